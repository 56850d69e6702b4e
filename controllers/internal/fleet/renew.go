package fleet

import (
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/transport"
	"github.com/daytwo-dev/daytwo/controllers/internal/kubeconfig"
)

// Renew replaces the credentials by others for the same address, which Try has found to be good. Nothing is closed: requests and
// watches that are under way go on with the old ones, and each one after them takes the new ones, over a connection that is
// checked as ever. Where there is no connection, or the address is another one, Renew does what Connect does.
func (f *Fleet) Renew(key types.NamespacedName, access kubeconfig.Access) {
	f.mu.Lock()
	connection := f.connections[key]
	f.mu.Unlock()
	if connection == nil || !connection.renew(access) {
		f.Connect(key, access)
	}
}

// renew returns false where a new connection is needed.
func (c *connection) renew(access kubeconfig.Access) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session == nil || !c.access.LeadsWhere(access) {
		return false
	}
	config := access.RESTConfig()
	config.UserAgent = metav1alpha1.FieldManager
	if err := c.session.Renew(config); err != nil {
		return false
	}
	c.access = access
	notify(c.suspicious) // A probe tells soon whether the cluster goes on answering.
	return true
}

// hold keeps the transport whose credentials may be renewed; nil for none.
func (c *connection) hold(session *transport.Transport) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session = session
}

func (c *connection) accessInUse() kubeconfig.Access {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.access
}
