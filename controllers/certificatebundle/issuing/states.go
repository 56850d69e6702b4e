package issuing

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

// states remembers which certificates are wanted, and which are not issued. All of it is found out again after a restart.
type states struct {
	mu       sync.Mutex
	byBundle map[types.NamespacedName]*bundleStates
}

type bundleStates struct {
	wanted map[rollout.ClusterKey]bool
	// notIssued are the states of certificates that are not.
	notIssued map[rollout.ClusterKey]State
	issuers   Issuers
}

// ofBundle is what is remembered of a bundle. The caller holds the lock.
func (s *states) ofBundle(bundle types.NamespacedName) *bundleStates {
	if s.byBundle == nil {
		s.byBundle = map[types.NamespacedName]*bundleStates{}
	}
	known := s.byBundle[bundle]
	if known == nil {
		known = &bundleStates{wanted: map[rollout.ClusterKey]bool{}, notIssued: map[rollout.ClusterKey]State{}}
		s.byBundle[bundle] = known
	}
	return known
}

// want remembers that a certificate is wanted; it is pending if it is not issued. It tells whether that is news.
func (s *states) want(key Key, pending State) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.ofBundle(key.Bundle)
	news := !known.wanted[key.Cluster]
	known.wanted[key.Cluster] = true
	if _, told := known.notIssued[key.Cluster]; pending.Reason != "" && !told {
		known.notIssued[key.Cluster] = pending
	}
	return news
}

// assign returns the wanted certificates that are to be issued from another authority than before.
func (s *states) assign(bundle types.NamespacedName, issuers Issuers) (changed []rollout.ClusterKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.ofBundle(bundle)
	clusters := maps.Clone(known.wanted)
	for cluster := range issuers.In {
		clusters[cluster] = true
	}
	for cluster := range clusters {
		if known.issuers.of(cluster) != issuers.of(cluster) {
			changed = append(changed, cluster)
		}
	}
	known.issuers = issuers
	return changed
}

func (s *states) issuerOf(key Key) Issuer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.byBundle[key.Bundle]; known != nil {
		return known.issuers.of(key.Cluster)
	}
	return Issuer{}
}

func (s *states) isWanted(key Key) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.byBundle[key.Bundle]
	return known != nil && known.wanted[key.Cluster]
}

func (s *states) of(key Key) State {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.byBundle[key.Bundle]; known != nil {
		return known.notIssued[key.Cluster]
	}
	return State{}
}

// set tells whether what people are told is another state now.
func (s *states) set(key Key, state State, needed bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.byBundle[key.Bundle]
	if known == nil {
		return false
	}
	before := known.notIssued[key.Cluster]
	if state.Reason == "" {
		delete(known.notIssued, key.Cluster)
	} else {
		known.notIssued[key.Cluster] = state
	}
	if !needed {
		delete(known.wanted, key.Cluster)
	}
	return before.Reason != state.Reason || before.Message != state.Message
}

func (s *states) forget(bundle types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byBundle, bundle)
}

// Problem is a certificate that is not issued. Cluster is zero for one that all clusters share.
type Problem struct {
	Cluster rollout.ClusterKey
	State
}

// problems of a bundle, in the order of the clusters, those that need a person first.
func (s *states) problems(bundle types.NamespacedName, isPending func(State) bool) []Problem {
	s.mu.Lock()
	known := s.byBundle[bundle]
	notIssued := map[rollout.ClusterKey]State{}
	if known != nil {
		notIssued = maps.Clone(known.notIssued)
	}
	s.mu.Unlock()
	var found []Problem
	for cluster, state := range notIssued {
		found = append(found, Problem{Cluster: cluster, State: state})
	}
	slices.SortFunc(found, func(a, b Problem) int {
		if a, b := isPending(a.State), isPending(b.State); a != b {
			if a {
				return 1
			}
			return -1
		}
		return cmp.Or(a.Cluster.Compare(b.Cluster), 0)
	})
	return found
}

// wantedOf are the clusters in which a certificate of a bundle is wanted.
func (s *states) wantedOf(bundle types.NamespacedName) []rollout.ClusterKey {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.byBundle[bundle]; known != nil {
		return slices.Collect(maps.Keys(known.wanted))
	}
	return nil
}

// allNotIssued are the certificates of all bundles that are not issued.
func (s *states) allNotIssued() (keys []Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for bundle, known := range s.byBundle {
		for cluster := range known.notIssued {
			keys = append(keys, Key{Bundle: bundle, Cluster: cluster})
		}
	}
	return keys
}
