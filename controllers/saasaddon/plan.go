package saasaddon

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/revision"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
	"github.com/daytwo-dev/daytwo/controllers/internal/suspension"
)

// defaultMaxConcurrent is what an add-on without spec.rollout gets: the API server sets defaults
// inside of what is written only.
const defaultMaxConcurrent = 10

// Plan is what to write, in the order in which it has to happen.
type Plan struct {
	// AddFinalizer before anything that it has to undo.
	AddFinalizer bool
	// Store this revision before a target names it; nil if it is stored already.
	Store *revision.Snapshot
	// Rollout of the targets.
	Rollout rollout.Plan
	// Prune these revisions, which no target needs.
	Prune []revision.Stored
	// Release the add-on, whose targets are gone, and all its revisions.
	Release bool

	input    rollout.Input
	settings settings
}

// plan decides what to do about what was seen. It reads nothing and writes nothing.
func plan(seen observed) Plan {
	input := rolloutInput(seen)
	todo := Plan{Rollout: rollout.PlanRollout(input), input: input, settings: settingsOf(seen)}
	held := slices.Contains(seen.addon.Finalizers, metav1alpha1.FinalizerPolicy)
	if input.Policy.Deleting {
		todo.Release = held && len(seen.targets) == 0
		return todo
	}
	todo.AddFinalizer = !held
	if seen.snapshot != nil {
		if !seen.snapshot.StoredIn(seen.stored) {
			todo.Store = seen.snapshot
		}
		todo.Prune = revision.Prune(seen.stored, seen.snapshot.Name, referencedRevisions(seen.targets))
	}
	return todo
}

// rolloutInput is what was seen, in the words of package rollout.
func rolloutInput(seen observed) rollout.Input {
	wanted, revision := settingsOf(seen), currentRevision(seen)
	input := rollout.Input{Withdrawals: seen.addon.Status.Withdrawals, Now: seen.now, Policy: rollout.Policy{
		Namespace:     seen.addon.Namespace,
		Name:          seen.addon.Name,
		MaxConcurrent: cmp.Or(int(seen.addon.Spec.Rollout.MaxConcurrent), defaultMaxConcurrent),
		Gates:         policyGates(seen),
		Deleting:      !seen.addon.DeletionTimestamp.IsZero(),
		Guard:         guardOf(seen.addon),
		Confirmation:  metav1alpha1.WithdrawalConfirmed(seen.addon),
	}}
	for i := range seen.clusters {
		cluster := &seen.clusters[i]
		input.Clusters = append(input.Clusters, rollout.Cluster{
			ClusterKey: rollout.ClusterKey{Namespace: cluster.Namespace, Name: cluster.Name},
			Revision:   revision,
			Parameters: comparableParameters(parametersOf(cluster)),
			Connected:  isConnected(cluster),
			Gates:      clusterGates(cluster, seen.addon.Spec.Rollout, seen.now),
			Deleting:   !cluster.DeletionTimestamp.IsZero(),
		})
	}
	for i := range seen.targets {
		target := &seen.targets[i]
		state, message := stateOf(target)
		input.Targets = append(input.Targets, rollout.Target{
			Name:            target.Name,
			Cluster:         rollout.ClusterKey(target.Spec.ClusterRef),
			Revision:        target.Spec.Revision,
			Parameters:      comparableParameters(target.Spec.Cluster),
			SettingsCurrent: wanted.areOn(&target.Spec),
			State:           state,
			ReadySince:      readySince(target),
			Message:         message,
			Deleting:        !target.DeletionTimestamp.IsZero(),
		})
	}
	return input
}

// guardOf fills in what an add-on does not say of its guard, as rollouts do.
func guardOf(addon *addonsv1alpha1.SaaSAddon) rollout.Guard {
	guard := addon.Spec.WithdrawalGuard
	return rollout.Guard{
		MaxClusters: int(cmp.Or(guard.MaxClusters, metav1alpha1.DefaultWithdrawalMaxClusters)),
		MaxPercent:  int(ptr.Deref(guard.MaxPercent, metav1alpha1.DefaultWithdrawalMaxPercent)),
	}
}

// currentRevision is the revision of the content as it is now, or the last one that is known.
func currentRevision(seen observed) string {
	if seen.snapshot != nil {
		return seen.snapshot.Name
	}
	return seen.addon.Status.Revision
}

func settingsOf(seen observed) settings {
	spec := seen.addon.Spec
	wanted := settings{
		drift:          spec.Drift,
		deletionPolicy: cmp.Or(spec.DeletionPolicy, metav1alpha1.DeletionPolicyDelete),
		suspend:        suspension.Of(spec.Suspend, seen.addon.Annotations, seen.now).Active,
		requestedAt:    metav1alpha1.RequestedAt(seen.addon),
		runTests:       metav1alpha1.TestsRequested(seen.addon),
		adopt:          spec.Adopt,
	}
	wanted.drift.Mode = cmp.Or(spec.Drift.Mode, addonsv1alpha1.DriftCorrect)
	return wanted
}

func referencedRevisions(targets []addonsv1alpha1.AddonRelease) sets.Set[string] {
	referenced := sets.New[string]()
	for _, target := range targets {
		referenced.Insert(target.Spec.Revision, target.Status.Revision)
	}
	return referenced
}
