package addonrelease

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// report is what is told of a reconcile.
type report struct {
	status addonsv1alpha1.AddonReleaseStatus
	// failure is what the next try may mend; nil if nothing is.
	failure error
	// due is when the release must be looked at again though nothing happens; zero for never.
	due time.Time
	// incomplete: all that is missing is what the watches are about to show. One status then does for both.
	incomplete bool
	// emptied: nothing that is ours is left in the cluster.
	emptied bool
}

// makeReport tells what was observed, planned and done; the inventory is as it is afterwards. It is pure.
func makeReport(o observation, p plan, done result, seen shown) report {
	trouble := judge(o, p, done)
	told := report{status: makeStatus(o, p, done, seen, trouble)}
	told.due = due(o, p, done, seen, told.status)
	told.incomplete = o.isIncomplete(done, told.status, seen.health)
	told.emptied = len(told.status.Inventory) == 0 && done.helm.Hook == nil && (!p.helm.Purge || done.helm.Purged)
	if trouble != nil && trouble.reason == metav1alpha1.ReasonFailed && o.Unreachable == "" {
		told.failure = trouble
	}
	return told
}

// makeStatus makes the new status.
func makeStatus(o observation, p plan, done result, seen shown, trouble *verdict) addonsv1alpha1.AddonReleaseStatus {
	next := *done.status.DeepCopy()
	next.Helm = done.helm.Status.DeepCopy()
	next.ObservedGeneration = o.release.Generation
	if o.Unreachable != "" {
		reportUnreachable(&next, o)
		return next
	}
	next.Inventory = o.Inventory.Stored()
	next.ClusterID = string(o.ClusterID)
	next.HandledRequest = o.Request
	reportDrift(&next, o, p, done, seen.tolerated)
	if trouble == nil {
		next.Drift.Rules = o.RulesVersion
	}
	if trouble == nil && o.complete(done) {
		next.InputsHash, next.Applying, next.Revision = o.inputs, "", o.release.Spec.Revision
	}
	applied := next.InputsHash == o.inputs && next.Applying == "" && trouble == nil && !done.helm.RecordPending
	reportApplied(&next, o, trouble, applied)
	worst := firstUnhealthy(o.Inventory, seen.health)
	reportHealth(&next, o, applied, worst)
	reportReady(&next, o, trouble, applied, worst)
	return fitting(next, o, done.status)
}

// isIncomplete: everything was applied, and the watches are about to show the rest. Hooks are told of at once: they are
// not to run twice.
func (o observation) isIncomplete(done result, told addonsv1alpha1.AddonReleaseStatus, health map[objects.Key]fleet.Health) bool {
	if o.restored || len(done.Written) == 0 || len(done.Failed()) > 0 || done.Err != nil || told.Applying != "" || !o.release.DeletionTimestamp.IsZero() {
		return false
	}
	if helm := told.Helm; helm != nil && helm.Operation != nil && len(helm.Operation.Hooks) > 0 {
		return false
	}
	for _, is := range health {
		if is == apply.NotSeenYet {
			return true
		}
	}
	return false
}

// complete: the revision is in the cluster, and nothing else of ours is.
func (o observation) complete(done result) bool {
	return o.desiredKnown && !done.helm.RecordPending && !o.Suspension.Active && len(done.Removing) == 0 && o.release.DeletionTimestamp.IsZero()
}

func reportApplied(next *addonsv1alpha1.AddonReleaseStatus, o observation, trouble *verdict, applied bool) {
	switch {
	case trouble != nil:
		set(next, o, addonsv1alpha1.ConditionApplied, metav1.ConditionFalse, trouble.reason, trouble.message)
	case applied:
		set(next, o, addonsv1alpha1.ConditionApplied, metav1.ConditionTrue, metav1alpha1.ReasonSucceeded,
			fmt.Sprintf("%d objects of revision %s", len(next.Inventory), next.Revision))
	case o.Suspension.Active:
		set(next, o, addonsv1alpha1.ConditionApplied, metav1.ConditionFalse, metav1alpha1.ReasonSuspended,
			fmt.Sprintf("%s; revision %s waits", o.Suspension, o.release.Spec.Revision))
	default:
		set(next, o, addonsv1alpha1.ConditionApplied, metav1.ConditionFalse, metav1alpha1.ReasonProgressing, "not applied yet")
	}
}

// due is when the release must be looked at again though nothing happens; zero for never.
func due(o observation, p plan, done result, seen shown, next addonsv1alpha1.AddonReleaseStatus) time.Time {
	times := []time.Time{p.WakeAt, o.Suspension.Until, done.WakeAt, done.helm.WakeAt, seen.lookAt, o.GivenUpAt()}
	if meta.IsStatusConditionTrue(next.Conditions, metav1alpha1.ConditionStalled) {
		times = append(times, o.Now.Add(apply.RetryStalled))
	}
	for _, refused := range done.Refusals {
		times = append(times, refused.Until)
	}
	if o.problem != nil && !o.release.DeletionTimestamp.IsZero() {
		times = append(times, o.Now.Add(apply.RetryStalled))
	}
	if done.helm.Recheck {
		times = append(times, o.Now.Add(2*time.Second))
	}
	times = slices.DeleteFunc(times, time.Time.IsZero)
	if len(times) == 0 {
		return time.Time{}
	}
	return slices.MinFunc(times, time.Time.Compare)
}
