package target

import (
	"cmp"
	"slices"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/secretaccess"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/recordable"
)

// NewReport tells what was observed, planned and done; the inventory is as it is afterwards. It is pure.
func (d *Declared[T, S, X]) NewReport(
	o *DeclaredObservation[T, S, X], p Plan, done Carried[S], shown Shown, acknowledged *metav1alpha1.Acknowledgement,
) Conclusion[S] {
	outcome := done.Outcome
	findings := Findings{
		Observation: o.Observation, Plan: p.Plan, Result: done.Result, Shown: shown, Corrections: done.corrections(),
		LeftChanged: outcome.LeftChanged, Unhealthy: outcome.Unhealthy, Summary: outcome.Summary, Pending: outcome.Unfinished, Acknowledged: acknowledged,
		Trouble: cmp.Or(VerdictOfProblem(o.Problem), VerdictOfWrites(p.Plan, done.Result), outcome.Trouble, VerdictOfWaits(done.Result)),
	}
	next := d.nextStatus(o, done, findings)
	told, beside := d.Parts(next), d.staged().Beside(next)
	due := slices.Clone(outcome.Due)
	if outcome.DueBy != nil {
		due = append(due, outcome.DueBy(next))
	}
	if secretaccess.Of(o.Problem) != nil {
		due = append(due, o.Now.Add(secretaccess.LookAgain))
	}
	if o.Problem != nil && o.isDeleted() {
		due = append(due, o.Now.Add(apply.RetryStalled))
	}
	return Conclusion[S]{
		Findings: findings, Status: next, Told: told, Due: findings.Due(told, due...),
		Incomplete: findings.AwaitsWatches(told) && !outcome.Urgent,
		Ends:       p.Finalize && done.Err == nil && (len(told.Inventory) == 0 && !outcome.Remains || o.isObjectsAbandonable()),
		Left:       d.leftovers(next, o.Inventory), Keeps: beside.holds,
		Mirrors: func(stored *S) bool { return !o.isDeleted() && d.mirrors(stored, next) },
		Follows: func(stored *S) bool { return !o.isDeleted() && d.follows(stored, next) },
	}
}

// nextStatus is what is told. What cannot be stored, because a cluster answered with something that is not of this world,
// leaves the status before in place, and says so.
func (d *Declared[T, S, X]) nextStatus(o *DeclaredObservation[T, S, X], done Carried[S], findings Findings) *S {
	next := new(S)
	d.CopyStatus(next, &done.Recorded)
	if done.Outcome.Tell != nil {
		done.Outcome.Tell(next)
	}
	Report(d.Parts(next), findings)
	if done.Outcome.Conclude != nil {
		done.Outcome.Conclude(next)
	}
	size := d.sizeWithoutStatus(o.Target) + recordable.SizeOf(next)
	if o.Unreachable == "" && size > recordable.MaxStored {
		d.CopyStatus(next, &done.Recorded)
		d.Parts(next).StallAsTooLarge(o.Observation, d.Name(), size)
	}
	return next
}
