package policy

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/revision"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
	"github.com/daytwo-dev/daytwo/controllers/internal/suspension"
)

// defaultMaxConcurrent is what a policy without spec.rollout gets: the API server sets defaults
// inside of what is written only.
const defaultMaxConcurrent = 10

// plan is what to write, in the order in which it has to happen.
type plan struct {
	// addFinalizer before anything that it has to undo.
	addFinalizer bool
	// store this revision before a target names it; nil if it is stored already.
	store *revision.Snapshot
	// rollout of the targets.
	rollout rollout.Plan
	// prune these revisions, which no target needs.
	prune []revision.Stored
	// removeFinalizer of the policy, whose targets are gone, after all its revisions.
	removeFinalizer bool

	input    rollout.Input
	settings settings
}

// makePlan decides what to do about what was observed. It reads nothing and writes nothing.
func makePlan[P Policy, T Target](kind Kind[P, T], seen observation[P, T]) plan {
	wanted := settingsOf(seen.policy, seen.now)
	input := rolloutInput(kind, seen, wanted)
	planned := plan{rollout: rollout.PlanRollout(input), input: input, settings: wanted}
	guarded := slices.Contains(seen.policy.GetFinalizers(), metav1alpha1.FinalizerPolicy)
	if input.Policy.Deleting {
		planned.removeFinalizer = guarded && len(seen.targets) == 0
		return planned
	}
	planned.addFinalizer = !guarded
	if seen.snapshot != nil {
		if !seen.snapshot.StoredIn(seen.stored) {
			planned.store = seen.snapshot
		}
		planned.prune = revision.Prune(seen.stored, seen.snapshot.Name, referencedRevisions(seen.targets))
	}
	return planned
}

// rolloutInput is what was observed, in the words of package rollout.
func rolloutInput[P Policy, T Target](kind Kind[P, T], seen observation[P, T], wanted settings) rollout.Input {
	spec, current := seen.policy.GetPolicySpec(), currentRevision(seen)
	input := rollout.Input{Withdrawals: seen.policy.GetPolicyStatus().Withdrawals, Now: seen.now, Policy: rollout.Policy{
		Namespace:     seen.policy.GetNamespace(),
		Name:          seen.policy.GetName(),
		MaxConcurrent: cmp.Or(int(spec.Rollout.MaxConcurrent), defaultMaxConcurrent),
		Gates:         policyGates(seen),
		Deleting:      !seen.policy.GetDeletionTimestamp().IsZero(),
		Guard:         guardOf(spec.WithdrawalGuard),
		Confirmation:  metav1alpha1.WithdrawalConfirmed(seen.policy),
	}}
	input.Clusters = make([]rollout.Cluster, 0, len(seen.clusters))
	for _, cluster := range seen.clusters {
		input.Clusters = append(input.Clusters, rollout.Cluster{
			ClusterKey: rollout.ClusterKey{Namespace: cluster.Namespace, Name: cluster.Name},
			Revision:   current,
			Parameters: cluster.derived.comparable,
			Connected:  cluster.derived.connected,
			Gates:      clusterGates(cluster.TenantCluster, spec.Rollout, seen.now),
			Deleting:   !cluster.DeletionTimestamp.IsZero(),
		})
	}
	input.Targets = make([]rollout.Target, 0, len(seen.targets))
	for _, target := range seen.targets {
		state, message := kind.State(target.object)
		spec := target.object.GetTargetSpec()
		input.Targets = append(input.Targets, rollout.Target{
			Name:            target.object.GetName(),
			Cluster:         rollout.ClusterKey(spec.ClusterRef),
			Revision:        spec.Revision,
			Parameters:      target.parameters,
			SettingsCurrent: wanted.areOn(spec) && kind.SettingsCurrent(target.object, seen.policy),
			State:           state,
			ReadySince:      readySince(target.object),
			Message:         message,
			Deleting:        !target.object.GetDeletionTimestamp().IsZero(),
		})
	}
	return input
}

// guardOf fills in what a policy does not say of its guard, as rollouts do.
func guardOf(guard metav1alpha1.WithdrawalGuard) rollout.Guard {
	return rollout.Guard{
		MaxClusters: int(cmp.Or(guard.MaxClusters, metav1alpha1.DefaultWithdrawalMaxClusters)),
		MaxPercent:  int(ptr.Deref(guard.MaxPercent, metav1alpha1.DefaultWithdrawalMaxPercent)),
	}
}

// currentRevision is the revision of the content as it is now, or the last one that is known.
func currentRevision[P Policy, T Target](seen observation[P, T]) string {
	if seen.snapshot != nil {
		return seen.snapshot.Name
	}
	return seen.policy.GetPolicyStatus().Revision
}

// settings are what every target takes from its policy that is no part of the revision.
type settings struct {
	deletionPolicy metav1alpha1.DeletionPolicy
	suspend        bool
	requestedAt    string
}

func settingsOf(policy Policy, now time.Time) settings {
	spec := policy.GetPolicySpec()
	return settings{
		deletionPolicy: cmp.Or(spec.DeletionPolicy, metav1alpha1.DeletionPolicyDelete),
		suspend:        suspension.Of(spec.Suspend, policy.GetAnnotations(), now).Active,
		requestedAt:    metav1alpha1.RequestedAt(policy),
	}
}

func (s settings) setOn(spec *metav1alpha1.TargetSpec) {
	spec.DeletionPolicy, spec.Suspend, spec.RequestedAt = s.deletionPolicy, s.suspend, s.requestedAt
}

func (s settings) areOn(spec *metav1alpha1.TargetSpec) bool {
	return s == settings{deletionPolicy: spec.DeletionPolicy, suspend: spec.Suspend, requestedAt: spec.RequestedAt}
}

func referencedRevisions[T Target](targets []observedTarget[T]) sets.Set[string] {
	referenced := sets.New[string]()
	for _, target := range targets {
		referenced.Insert(target.object.GetTargetSpec().Revision, target.object.GetTargetStatus().Revision)
	}
	return referenced
}

// readySince is when a target became Ready in its current generation; zero if it is not.
func readySince(target Target) time.Time {
	ready := CurrentCondition(target, metav1alpha1.ConditionReady)
	if ready == nil || ready.Status != metav1.ConditionTrue {
		return time.Time{}
	}
	return ready.LastTransitionTime.Time
}
