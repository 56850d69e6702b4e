package policy

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/revision"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
	"github.com/daytwo-dev/daytwo/controllers/internal/suspension"
)

// Defaults for a policy without spec.rollout: the API server sets those inside of what is written only.
const (
	defaultMaxConcurrent    = 10
	defaultProgressDeadline = 10 * time.Minute
)

// plan is what to write, in the order in which it has to happen.
type plan[P Policy] struct {
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

	// setPhase writes the record of the phase, before targets change; nil for none.
	setPhase func(policy P)

	input    rollout.Input
	settings settings
}

// newPlan decides what to do about what was observed. It reads nothing and writes nothing.
func newPlan[P Policy, T Target](o observation[P, T]) plan[P] {
	input := rolloutInput(o)
	phase := Phase[P]{}
	if o.phased != nil {
		phase = o.phased.Phase(o.policy, input)
		input.Clusters = inPhase(phase, input.Clusters)
	}
	p := plan[P]{rollout: rollout.PlanRollout(input), input: input, settings: o.view.basis.settings, setPhase: phase.SetStatus}
	guarded := slices.Contains(o.policy.GetFinalizers(), metav1alpha1.FinalizerPolicy)
	if input.Policy.Deleting {
		p.removeFinalizer = guarded && len(o.view.targets) == 0
		return p
	}
	p.addFinalizer = !guarded
	if o.snapshot != nil {
		if !o.snapshot.StoredIn(o.view.stored) {
			p.store = o.snapshot
		}
		p.prune = prunable(o.view, o.snapshot.Name)
	}
	return p
}

// inPhase are the clusters with the gates of the phase.
func inPhase[P Policy](phase Phase[P], clusters []rollout.Cluster) []rollout.Cluster {
	if phase.GatesIn == nil {
		return clusters
	}
	gated := slices.Clone(clusters)
	for i := range gated {
		gated[i].Gates = slices.Concat(gated[i].Gates, phase.GatesIn(&gated[i]))
	}
	return gated
}

// prunable are the revisions that no target needs, beside the latest of them. Few revisions need no look at the targets.
func prunable(view *view, current string) []revision.Stored {
	others := slices.DeleteFunc(slices.Clone(view.stored), func(stored revision.Stored) bool { return stored.Name == current })
	if len(others) <= revision.HistoryLimit {
		return nil
	}
	return revision.Prune(view.stored, current, view.referencedRevisions())
}

// rolloutInput is what was observed, in the words of package rollout.
func rolloutInput[P Policy, T Target](o observation[P, T]) rollout.Input {
	spec := o.policy.GetPolicySpec()
	slots := cmp.Or(int(spec.Rollout.MaxConcurrent), defaultMaxConcurrent)
	clusters, targets := markUnwritten(o.view.clusters, o.unwritten), markGone(o.view.targets, o.gone)
	return rollout.Input{Withdrawals: o.policy.GetPolicyStatus().Withdrawals, Now: o.now, Clusters: clusters, Targets: targets, Policy: rollout.Policy{
		Namespace:     o.policy.GetNamespace(),
		Name:          o.policy.GetName(),
		MaxConcurrent: slots,
		MaxFailures:   int(ptr.Deref(spec.Rollout.MaxFailures, int32(slots))),

		ProgressDeadline: cmp.Or(spec.Rollout.ProgressDeadline.Duration, defaultProgressDeadline),
		Shared:           spec.ClusterNamespaceSelector != nil,

		Gates:        policyGates(o),
		Deleting:     !o.policy.GetDeletionTimestamp().IsZero(),
		Guard:        GuardOf(spec.WithdrawalGuard).AtMost(o.guardMax),
		Confirmation: metav1alpha1.WithdrawalConfirmed(o.policy),
	}}
}

// markUnwritten are the clusters, of which some are marked as those whose target could not be written the last time.
func markUnwritten(clusters []rollout.Cluster, unwritten map[rollout.ClusterKey]error) []rollout.Cluster {
	if len(unwritten) == 0 {
		return clusters
	}
	marked := slices.Clone(clusters)
	for i := range marked {
		marked[i].Unwritten = unwritten[marked[i].ClusterKey] != nil
	}
	return marked
}

// markGone are the targets, of which those are marked whose TenantCluster is gone.
func markGone(targets []rollout.Target, gone sets.Set[rollout.ClusterKey]) []rollout.Target {
	if len(gone) == 0 {
		return targets
	}
	marked := slices.Clone(targets)
	for i := range marked {
		marked[i].ClusterGone = gone.Has(marked[i].Cluster)
	}
	return marked
}

// currentRevision is the revision of the content as it is now, or the last one that is known.
func currentRevision[P Policy, T Target](o observation[P, T]) string {
	if o.snapshot != nil {
		return o.snapshot.Name
	}
	return o.policy.GetPolicyStatus().Revision
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
