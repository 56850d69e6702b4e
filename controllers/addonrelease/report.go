package addonrelease

import (
	"time"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// recheckHooks is when a hook that was deleted is looked for again: no watch tells that it is gone.
const recheckHooks = 2 * time.Second

// report is what is told of a reconcile.
type report struct {
	findings target.Findings
	status   addonsv1alpha1.AddonReleaseStatus
	// due is when the release must be looked at again though nothing happens; zero for never.
	due time.Time
	// incomplete: all that is missing is what the watches are about to show. One status then does for both.
	incomplete bool
	// emptied: nothing that is ours is left in the cluster.
	emptied bool
}

// makeReport tells what was observed, planned and done; the inventory is as it is afterwards. It is pure.
func makeReport(o observation, p plan, done result, seen target.Shown) report {
	findings := target.Findings{
		Observation: o.Observation, Plan: p.Plan, Result: done.Result, Shown: seen, Corrections: done.corrections(),
		LeftChanged: o.leftChanged(done), Pending: done.helm.RecordPending, Trouble: judge(o, p, done),
	}
	next := *done.status.DeepCopy()
	next.Helm = done.helm.Status.DeepCopy()
	target.Report(statusOf(&next), findings)
	if o.Unreachable == "" {
		next = fitting(next, o, done.status)
	}
	return report{
		findings: findings, status: next, due: findings.Due(statusOf(&next), o.dueForKind(done)...),
		incomplete: findings.AwaitsWatches(statusOf(&next)) && !runsHooks(next.Helm),
		emptied:    len(next.Inventory) == 0 && done.helm.Hook == nil && (!p.helm.Purge || done.helm.Purged),
	}
}

// statusOf is the part of a release's status that the room writes.
func statusOf(status *addonsv1alpha1.AddonReleaseStatus) target.Status {
	return target.Status{TargetStatus: &status.TargetStatus, ObjectsStatus: &status.ObjectsStatus}
}

// leftChanged says that the record of the Helm release was changed, and is left so; empty if it is not.
func (o observation) leftChanged(done result) string {
	if !o.helm.RecordDrifted || len(done.helm.Reverted) > 0 {
		return ""
	}
	return "somebody used Helm on the release; its record is left as it is"
}

// runsHooks is whether an operation has hooks. They are told of at once: they are not to run twice.
func runsHooks(helm *addonsv1alpha1.HelmRelease) bool {
	return helm != nil && helm.Operation != nil && len(helm.Operation.Hooks) > 0
}

// dueForKind is when the release must be looked at again for what is particular to it.
func (o observation) dueForKind(done result) []time.Time {
	times := []time.Time{done.helm.WakeAt}
	if o.problem != nil && !o.release.DeletionTimestamp.IsZero() {
		times = append(times, o.Now.Add(apply.RetryStalled))
	}
	if done.helm.Recheck {
		times = append(times, o.Now.Add(recheckHooks))
	}
	return times
}
