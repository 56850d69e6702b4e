package relay

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// memory is what is remembered of deliveries. All of it is found out again after a restart.
type memory struct {
	mu    sync.Mutex
	known map[types.NamespacedName]*remembered
}

// remembered is of one delivery. Only the state and the cluster are read by others than its reconcile.
type remembered struct {
	// cluster is the TenantCluster.
	cluster types.NamespacedName
	state   State

	// revision and parameters that the policy was made from, and the policy.
	inputs string
	policy *policy
	// verdicts by everything that a request is checked for, under that policy.
	verdicts map[[sha256.Size]byte]verdict
	// asked are the CertificateRequests that were made and that the cache may not show yet, by when.
	asked map[string]time.Time
	// final are the CertificateRequests that have a certificate or never get one.
	final map[string]bool
}

func (m *memory) of(delivery types.NamespacedName) *remembered {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil {
		m.known = map[types.NamespacedName]*remembered{}
	}
	if m.known[delivery] == nil {
		m.known[delivery] = &remembered{asked: map[string]time.Time{}, final: map[string]bool{}}
	}
	return m.known[delivery]
}

func (m *memory) forget(delivery types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.known, delivery)
}

// note remembers where a delivery works.
func (m *memory) note(r *remembered, cluster types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r.cluster = cluster
}

// set tells whether the state is another one now.
func (m *memory) set(r *remembered, state State) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	changed := !r.state.equals(state)
	r.state = state
	return changed
}

func (m *memory) stateOf(delivery types.NamespacedName) State {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.known[delivery]; r != nil {
		return r.state
	}
	return State{}
}

// clusterOf is where a delivery works.
func (m *memory) clusterOf(delivery types.NamespacedName) types.NamespacedName {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.known[delivery]; r != nil {
		return r.cluster
	}
	return types.NamespacedName{}
}

// in are the deliveries that work in a TenantCluster.
func (m *memory) in(cluster types.NamespacedName) (deliveries []types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for delivery, r := range m.known {
		if r.cluster == cluster {
			deliveries = append(deliveries, delivery)
		}
	}
	return deliveries
}

// all are the deliveries that are known.
func (m *memory) all() (deliveries []types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for delivery := range m.known {
		deliveries = append(deliveries, delivery)
	}
	return deliveries
}

// check checks requests, each once, and forgets what came of those that are gone.
func (r *remembered) check(requests []request) []checkedRequest {
	checked, verdicts := make([]checkedRequest, 0, len(requests)), map[[sha256.Size]byte]verdict{}
	for _, one := range requests {
		if !one.isOpen() {
			checked = append(checked, checkedRequest{request: one})
			continue
		}
		key := one.digest()
		found, known := r.verdicts[key]
		if !known {
			found.wanted, found.denied = check(one, r.policy)
		}
		verdicts[key] = found
		checked = append(checked, checkedRequest{one, found})
	}
	r.verdicts = verdicts
	return checked
}

// digest is over everything that a request is checked for.
func (r request) digest() [sha256.Size]byte {
	encoded, err := json.Marshal([]any{r.pem, r.oversize, r.usages, r.expiration, r.username, r.groups})
	if err != nil {
		panic(fmt.Sprintf("strings and numbers are always JSON: %v", err))
	}
	return sha256.Sum256(encoded)
}
