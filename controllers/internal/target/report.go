package target

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/plural"
	"github.com/daytwo-dev/daytwo/controllers/internal/standstill"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/tombstones"
)

// Findings are what the report of a target is made from. The inventory is as it is afterwards.
type Findings struct {
	Observation Observation
	Plan        apply.Plan
	Result      apply.Result
	Shown       Shown
	// Corrections are the writes that took something back.
	Corrections []apply.Written
	// LeftChanged says what others changed beside the objects, and is left as it is; empty for nothing.
	LeftChanged string
	// Pending: what the kind does beside the objects is not done.
	Pending bool
	// Acknowledged is what was read back; nil if not all was, or the kind does not tell.
	Acknowledged *metav1alpha1.Acknowledgement
	// Trouble is the first thing that is in the way of the revision; nil if nothing is.
	Trouble *Verdict
	// Unhealthy is what does not work of what is applied, beside the objects' own health; nil if all does.
	Unhealthy *Verdict
	// Summary says that all is well; empty for how many objects there are.
	Summary string
}

// Shown is what the watches show of a target after its plan was carried out.
type Shown struct {
	Health map[objects.Key]tracker.Health
	// tolerated is what stays of what others set.
	tolerated []metav1alpha1.ToleratedManager
	// standstill is the first unhealthy object, if it has been so for a while.
	standstill standstill.Standstill
	// lookAt is when to look again: when the watches have had their time, or the pods of an unhealthy object are to be read; zero for never.
	lookAt time.Time
}

// Report writes what became of a target into its status. It is pure.
func Report(next Status, f Findings) {
	o := f.Observation
	next.ObservedGeneration = o.target.GetGeneration()
	if o.Unreachable != "" {
		reportUnreachable(next, o)
		return
	}
	next.ClusterID = string(o.ClusterID)
	next.Inventory, next.Removed = o.Inventory.Stored(), tombstones.Update(next.Removed, o.Desired, f.Result)
	if len(f.Result.Postponed) == 0 {
		next.HandledRequest = o.Request
	}
	reportDrift(next, f)
	if f.Trouble == nil {
		next.Drift.Rules = o.RulesVersion
	}
	if f.Trouble == nil && f.isComplete() {
		next.InputsHash, next.Applying, next.Revision = o.Inputs, "", o.revision()
	}
	applied := next.InputsHash == o.Inputs && next.Applying == "" && f.Trouble == nil && !f.Pending
	if applied && f.Acknowledged != nil {
		next.Acknowledged = f.Acknowledged
	}
	reportApplied(next, o, f.Trouble, applied)
	worst := firstUnhealthy(o.Inventory, f.Shown.Health).standing(f.Shown.standstill)
	reportHealth(next, f, applied, worst)
	reportReady(next, f, applied, worst)
}

// isComplete is whether the revision is in the cluster, and nothing else of the target's is.
func (f Findings) isComplete() bool {
	o := f.Observation
	return o.DesiredKnown && !f.Pending && !o.Suspension.Active && len(f.Result.Removing) == 0 && !o.isDeleted()
}

// AwaitsWatches is whether everything was applied, and the watches are about to show the rest.
func (f Findings) AwaitsWatches(told Status) bool {
	o, done := f.Observation, f.Result
	if o.Restored || len(done.Written) == 0 || len(done.Postponed) > 0 || len(done.Failed()) > 0 || done.Err != nil || told.Applying != "" || o.isDeleted() {
		return false
	}
	for _, is := range f.Shown.Health {
		if is == apply.NotSeenYet {
			return true
		}
	}
	return false
}

// Failure is what the next try may mend; nil if nothing is.
func (f Findings) Failure() error {
	if f.Trouble != nil && f.Trouble.Reason == metav1alpha1.ReasonFailed && f.Observation.Unreachable == "" {
		return f.Trouble
	}
	return nil
}

// Due is when the target must be looked at again though nothing happens, by what was told and by further times of its
// kind; zero for never.
func (f Findings) Due(told Status, more ...time.Time) time.Time {
	o := f.Observation
	times := append(more, f.Plan.WakeAt, o.Suspension.Until, f.Result.WakeAt, f.Shown.lookAt, o.GivenUpAt())
	if meta.IsStatusConditionTrue(told.Conditions, metav1alpha1.ConditionStalled) {
		times = append(times, o.Now.Add(apply.RetryStalled))
	}
	for _, refused := range f.Result.Refusals {
		times = append(times, refused.Until)
	}
	times = slices.DeleteFunc(times, time.Time.IsZero)
	if len(times) == 0 {
		return time.Time{}
	}
	return slices.MinFunc(times, time.Time.Compare)
}

func reportApplied(next Status, o Observation, trouble *Verdict, applied bool) {
	switch {
	case trouble != nil:
		next.set(o, metav1alpha1.ConditionApplied, metav1.ConditionFalse, trouble.Reason, trouble.Message)
	case applied:
		next.set(o, metav1alpha1.ConditionApplied, metav1.ConditionTrue, metav1alpha1.ReasonSucceeded,
			fmt.Sprintf("%s of revision %s", plural.Of(len(next.Inventory), "object"), next.Revision))
	case o.Suspension.Active:
		next.set(o, metav1alpha1.ConditionApplied, metav1.ConditionFalse, o.Suspension.Reason(),
			fmt.Sprintf("%s; revision %s waits", o.Suspension, o.revision()))
	default:
		next.set(o, metav1alpha1.ConditionApplied, metav1.ConditionFalse, metav1alpha1.ReasonProgressing, "not applied yet")
	}
}
