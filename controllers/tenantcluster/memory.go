package tenantcluster

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/daytwo-dev/daytwo/controllers/internal/kubeconfig"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/renewedtoken"
)

// sourceOf says where credentials were read, and when.
type sourceOf struct {
	ref             secretReference
	resourceVersion string
}

// memory keeps what was read of Secrets, so that each version of one is read once.
type memory struct {
	mu      sync.Mutex
	entries map[types.NamespacedName]entry
}

// tokenSource says of which version of its Secret a token is, and which kubeconfig it was read for.
type tokenSource struct{ version, kubeconfig string }

type entry struct {
	source sourceOf
	found  credentials
	// linked is the fingerprint of the access that the fleet was given.
	linked string
	// token is what a Secret with a renewed token had, and of which version that is.
	token       *renewedtoken.Token
	tokenSource tokenSource
	// refused are the credentials that the cluster refused.
	refused renewedtoken.Refusals
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

// linked is the fingerprint of the access that the fleet was given last; empty for none.
func (m *memory) linked(cluster types.NamespacedName) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.entries[cluster].linked
}

func (m *memory) recallToken(cluster types.NamespacedName, source tokenSource) (*renewedtoken.Token, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known, ok := m.entries[cluster]
	return known.token, ok && known.tokenSource == source
}

func (m *memory) rememberToken(cluster types.NamespacedName, source tokenSource, token *renewedtoken.Token) {
	m.update(cluster, func(known *entry) { known.token, known.tokenSource = token, source })
}

// observeRefusal records whether the cluster refuses the access that the fleet was given, and returns all that it refused. One
// that it accepts is refused no longer.
func (m *memory) observeRefusal(cluster types.NamespacedName, linked string, refused, accepted bool, now time.Time) renewedtoken.Refusals {
	var all renewedtoken.Refusals
	m.update(cluster, func(known *entry) {
		all = maps.Clone(known.refused)
		if all == nil {
			all = renewedtoken.Refusals{}
		}
		if refused && linked != "" {
			all[linked] = now
		}
		if accepted {
			delete(all, linked)
		}
		for fingerprint, at := range all {
			if len(all) > maxRefusals && at.Before(now) {
				delete(all, fingerprint)
			}
		}
		known.refused = all
	})
	return all
}

// maxRefusals bounds the credentials of a cluster of which a refusal is remembered: a token, the kubeconfig's, and those before.
const maxRefusals = 8

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
