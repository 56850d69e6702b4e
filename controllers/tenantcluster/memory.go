package tenantcluster

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/kubeconfig"
)

// sourceOf says where credentials were read, and when.
type sourceOf struct {
	ref             metav1alpha1.SecretKeyReference
	resourceVersion string
}

// memory keeps what was read of Secrets, so that each version of one is read once.
type memory struct {
	mu      sync.Mutex
	entries map[types.NamespacedName]entry
}

type entry struct {
	source sourceOf
	found  credentials
	// linked is the fingerprint of the access that the fleet was given.
	linked string
	// handled is the request for a try that was acted on last.
	handled string
}

func (m *memory) recall(cluster types.NamespacedName, source sourceOf) (credentials, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known, ok := m.entries[cluster]
	return known.found, ok && known.source == source
}

func (m *memory) remember(cluster types.NamespacedName, source sourceOf, found credentials) {
	m.update(cluster, func(known *entry) { known.source, known.found = source, found })
}

// link records which access the fleet was given; empty for none.
func (m *memory) link(cluster types.NamespacedName, fingerprint string) {
	m.update(cluster, func(known *entry) { known.linked = fingerprint })
}

// isLinked says whether the fleet was given this access last.
func (m *memory) isLinked(cluster types.NamespacedName, access kubeconfig.Access) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.entries[cluster].linked == access.Fingerprint()
}

// handle records that the fleet was asked for a try, or made one anyway, after this request.
func (m *memory) handle(cluster types.NamespacedName, request string) {
	m.update(cluster, func(known *entry) { known.handled = request })
}

// isHandled says whether there was a try since the request came. Taking a request back is none.
func (m *memory) isHandled(cluster types.NamespacedName, request string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return request == "" || m.entries[cluster].handled == request
}

func (m *memory) update(cluster types.NamespacedName, change func(*entry)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.entries == nil {
		m.entries = map[types.NamespacedName]entry{}
	}
	known := m.entries[cluster]
	change(&known)
	m.entries[cluster] = known
}

func (m *memory) forget(cluster types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.entries, cluster)
}
