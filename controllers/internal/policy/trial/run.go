package trial

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

const (
	// maxClusters is for how many clusters content is tried at most, and maxCostly how many of these may reach a limit: a
	// template that never ends keeps a processor busy for 10 s.
	maxClusters = 32
	maxCostly   = 3
	// maxTime bounds a trial once it has begun.
	maxTime = 2 * time.Minute
)

// Refusal says why content cannot be used for a cluster, however often it is tried.
type Refusal struct {
	// Message names what is wrong with the content, and the way out.
	Message string
	// Costly: it took as much time or memory as it may to find that out.
	Costly bool
}

// Error implements error.
func (r *Refusal) Error() string { return r.Message }

// Try has content tried for one cluster: nil if it can be used, a *Refusal if it cannot, and another error where that cannot be
// told.
type Try func(ctx context.Context, cluster rollout.ClusterKey) error

// Run tries content for one cluster after the other, until it can be used for one. It returns the first refusal if it can be used
// for none of them, nil if it can for one, and an error where that is not known.
func Run(ctx context.Context, clusters []rollout.ClusterKey, try Try) (*Refused, error) {
	limited, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	var refused *Refused
	costly := 0
	for _, cluster := range clusters {
		err := try(limited, cluster)
		var refusal *Refusal
		switch {
		case err == nil:
			return nil, nil //nolint:nilnil // It can be used.
		case refused != nil && limited.Err() != nil:
			return refused, nil
		case !errors.As(err, &refusal):
			return nil, err
		case refused == nil:
			refused = &Refused{Cluster: cluster, Message: refusal.Message}
		}
		refused.Tried++
		if refusal.Costly {
			costly++
		}
		if costly == maxCostly {
			return refused, nil
		}
	}
	return refused, nil
}

// Refused tells of content that can be used for none of the clusters for which it was tried.
type Refused struct {
	// Cluster is the first of them, and Message what is wrong there.
	Cluster rollout.ClusterKey
	Message string
	// Tried is how many they are.
	Tried int
}

// Choose chooses for which clusters content is tried: of each namespace one in turn, so that no customer's clusters alone decide
// about a policy of several customers.
func Choose(clusters []rollout.ClusterKey) []rollout.ClusterKey {
	byNamespace := map[string][]rollout.ClusterKey{}
	var namespaces []string
	for _, cluster := range clusters {
		if byNamespace[cluster.Namespace] == nil {
			namespaces = append(namespaces, cluster.Namespace)
		}
		byNamespace[cluster.Namespace] = append(byNamespace[cluster.Namespace], cluster)
	}
	slices.Sort(namespaces)
	var chosen []rollout.ClusterKey
	for turn := 0; len(chosen) < min(len(clusters), maxClusters); turn++ {
		for _, namespace := range namespaces {
			if turn < len(byNamespace[namespace]) && len(chosen) < maxClusters {
				chosen = append(chosen, byNamespace[namespace][turn])
			}
		}
	}
	return chosen
}
