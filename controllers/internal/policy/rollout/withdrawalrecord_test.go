package rollout

import (
	"fmt"
	"testing"
	"time"
)

func TestConfirmedWithdrawalThatFailedHalfwayGoesOn(t *testing.T) {
	f := newFleet(t, 12)
	f.deselect(6)
	f.expect(0, true)
	f.confirm("6")
	plan := PlanRollout(f.input)
	plan.Delete = plan.Delete[:2]
	f.carryOut(plan)
	f.expect(4, false)
	if record := f.input.Withdrawals; record.Underway != nil || len(record.Recent) > 0 || record.SpentConfirmation != "6" {
		t.Errorf("record %+v", record)
	}
}

// A manager that dies after it stored the record has deleted some targets, or none, or all.
func TestCrashCountsNothingTwice(t *testing.T) {
	for deleted := range 4 {
		t.Run(fmt.Sprintf("%d deleted", deleted), func(t *testing.T) {
			f := newFleet(t, 20)
			f.deselect(3)
			f.input.Clusters = append(f.input.Clusters, cluster("b1"), cluster("b2"))
			plan := PlanRollout(f.input)
			plan.Delete = plan.Delete[:deleted]
			f.crash(plan)

			f.deselect(2) // Meanwhile: b1 and b2.
			f.expect(0, true)
			f.input.Clusters = append(f.input.Clusters, cluster("b1"))
			f.expect(4-deleted, false)
		})
	}
}

// crash carries a plan out and dies before the status is written again.
func (f *fleet) crash(plan Plan) {
	f.carryOut(plan)
	f.input.Withdrawals = stored(f.t, *plan.Record())
}

func TestRecordIsBoundedAndForgets(t *testing.T) {
	f := newFleet(t, 500)
	f.input.Policy.Guard = Guard{MaxClusters: 1, MaxPercent: 100}
	for range 300 {
		f.deselect(1)
		f.expect(1, false)
		f.wait(50 * time.Second)
		if minutes := len(f.input.Withdrawals.Recent); minutes > 61 {
			t.Fatalf("%d minutes", minutes)
		}
	}
	f.wait(-10 * time.Hour) // The clock is set back.
	for range 100 {
		f.deselect(1)
		f.expect(1, false)
		f.wait(time.Minute)
	}
	if minutes := len(f.input.Withdrawals.Recent); minutes > 61 {
		t.Errorf("%d minutes", minutes)
	}
	if left := CurrentWithdrawals(f.input.Withdrawals, f.input.Now.Add(100*time.Hour)); len(left.Recent) > 0 {
		t.Errorf("left %+v", left)
	}
}
