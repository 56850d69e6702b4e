package rollout

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

var noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

// fleet is a policy and its clusters, with a clock. Every target is Ready.
type fleet struct {
	t     *testing.T
	input Input
}

// newFleet has clusters a00, a01, … with a target each.
func newFleet(t *testing.T, size int) *fleet {
	f := &fleet{t: t, input: Input{Policy: policy(1000), Now: noon}}
	f.add(size)
	f.next()
	return f
}

func clusterName(i int) string { return fmt.Sprintf("a%02d", i) }

// add selects clusters that were not before.
func (f *fleet) add(count int) {
	for i := 0; count > 0; i++ {
		known := func(c Cluster) bool { return c.Name == clusterName(i) }
		if !slices.ContainsFunc(f.input.Clusters, known) {
			f.input.Clusters = append(f.input.Clusters, cluster(clusterName(i)))
			count--
		}
	}
}

// deselect ends the selection of the last clusters.
func (f *fleet) deselect(count int) {
	f.input.Clusters = f.input.Clusters[:len(f.input.Clusters)-count]
}

// next carries a plan out, lets what is deleted go, and starts the manager anew: all it knows is what
// comes out of the status.
func (f *fleet) next() Plan {
	plan := PlanRollout(f.input)
	f.carryOut(plan)
	return plan
}

func (f *fleet) carryOut(plan Plan) {
	f.input = f.input.After(plan)
	f.input.Targets = slices.DeleteFunc(f.input.Targets, func(t Target) bool { return t.Deleting })
	for i := range f.input.Targets {
		f.input.Targets[i].State = Ready
	}
	f.input.Withdrawals = stored(f.t, f.input.Withdrawals)
}

// stored is a record as it comes back from the status.
func stored(t *testing.T, record metav1alpha1.WithdrawalRecord) metav1alpha1.WithdrawalRecord {
	t.Helper()
	encoded, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	read := metav1alpha1.WithdrawalRecord{}
	if err := json.Unmarshal(encoded, &read); err != nil {
		t.Fatal(err)
	}
	return read
}

func (f *fleet) wait(span time.Duration) { f.input.Now = f.input.Now.Add(span) }

func (f *fleet) confirm(value string) { f.input.Policy.Confirmation = value }

// expect plans, and checks how many clusters are lost and whether the others are held back.
func (f *fleet) expect(lost int, held bool) {
	f.t.Helper()
	plan := f.next()
	if len(plan.Delete) != lost || plan.Withdrawal.Held != held {
		f.t.Fatalf("%d lost, held %t; want %d, %t (%s)", len(plan.Delete), plan.Withdrawal.Held, lost, held, plan.Withdrawal)
	}
}

func TestWithdrawalGuard(t *testing.T) {
	tests := map[string]struct {
		had, deselected int
		guard           Guard
		held            bool
	}{
		"three of four go":                                {had: 4, deselected: 3},
		"four of four do not":                             {had: 4, deselected: 4, held: true},
		"a fifth of many goes":                            {had: 24, deselected: 4},
		"more than a fifth does not":                      {had: 24, deselected: 5, held: true},
		"a fifth of a hundred goes":                       {had: 100, deselected: 20},
		"one more does not":                               {had: 100, deselected: 21, held: true},
		"a selector that selects nothing is stopped":      {had: 12, deselected: 12, held: true},
		"all of a small fleet go":                         {had: 3, deselected: 3},
		"a larger number may be allowed":                  {had: 12, deselected: 12, guard: Guard{MaxClusters: 12}},
		"a larger share may be allowed":                   {had: 12, deselected: 6, guard: Guard{MaxClusters: 1, MaxPercent: 50}},
		"no share leaves the number":                      {had: 100, deselected: 4, guard: Guard{MaxClusters: 3}, held: true},
		"a hundred percent are no guard":                  {had: 12, deselected: 12, guard: Guard{MaxClusters: 1, MaxPercent: 100}},
		"a guard that says nothing lets one go at a time": {had: 12, deselected: 1, guard: Guard{MaxPercent: 1}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, test.had)
			if test.guard != (Guard{}) {
				f.input.Policy.Guard = test.guard
			}
			f.deselect(test.deselected)
			if would := Withdraw(f.input); would.Held != test.held || would.Clusters.Count != int32(test.deselected) {
				t.Errorf("asked before, it says held %t, %d clusters", would.Held, would.Clusters.Count)
			}
			if test.held {
				f.expect(0, true)
				return
			}
			f.expect(test.deselected, false)
		})
	}
}

// Clusters whose targets may not go yet are none that are lost.
func TestGuardCountsAClusterThatIsDeletedOnceItsTargetIsToGo(t *testing.T) {
	f := newFleet(t, 24)
	for i := range 5 {
		f.input.Clusters[i].Deleting, f.input.Clusters[i].Gates = true, []Gate{terminatingGate}
	}
	f.expect(0, false)
	for i := range 4 {
		f.input.Clusters[i].Gates = nil
	}
	f.expect(4, false)
	f.input.Clusters[4].Gates = nil
	f.expect(0, true)
}

func TestGuardCountsSingleEditsTogether(t *testing.T) {
	edits := map[string]func(*fleet){
		"labels":       func(f *fleet) { f.deselect(1) },
		"time between": func(f *fleet) { f.deselect(1); f.wait(10 * time.Second) },
		"deletions of TenantClusters": func(f *fleet) {
			index := slices.IndexFunc(f.input.Clusters, func(c Cluster) bool { return !c.Deleting })
			f.input.Clusters[index].Deleting = true
		},
	}
	for name, edit := range edits {
		t.Run(name, func(t *testing.T) {
			f, lost := newFleet(t, 100), 0
			for range 100 {
				edit(f)
				lost += len(f.next().Delete)
			}
			would := Withdraw(f.input)
			if lost != 20 || !would.Held || would.Clusters.Count != 80 {
				t.Errorf("%d clusters are lost, then: %+v", lost, would)
			}
			if minutes := len(f.input.Withdrawals.Recent); minutes > 4 {
				t.Errorf("the record has %d minutes", minutes)
			}
		})
	}
}

func TestGuardHoldsNothingElse(t *testing.T) {
	f := newFleet(t, 12)
	f.deselect(6)
	f.input.Clusters = append(f.input.Clusters, cluster("new"))
	for i := range f.input.Clusters {
		f.input.Clusters[i].Revision = "cache-newer"
	}
	plan := f.next()
	if len(plan.Delete) != 0 || len(plan.Create) != 1 || len(plan.Update) != 6 {
		t.Errorf("plan %+v", plan)
	}
}

func TestDeletedPolicyIsNotGuarded(t *testing.T) {
	f := newFleet(t, 12)
	f.input.Policy.Deleting = true
	if plan := PlanRollout(f.input); len(plan.Delete) != 12 || plan.Record() != nil {
		t.Errorf("plan %+v", plan)
	}
}

func TestGuardLetsGoWhenClustersAreSelectedAgain(t *testing.T) {
	f := newFleet(t, 12)
	f.deselect(5)
	f.expect(0, true)
	f.add(2)
	f.expect(3, false)
	f.deselect(1)
	f.expect(0, true)
	f.add(1)
	f.expect(0, false)
}

func TestGuardSlidesOverAnHour(t *testing.T) {
	f := newFleet(t, 20)
	f.wait(30 * time.Second)
	f.deselect(2)
	f.expect(2, false)
	f.wait(30 * time.Minute)
	f.deselect(2)
	f.expect(2, false)
	f.deselect(1)
	f.expect(0, true)

	again := Withdraw(f.input).Again
	if want := noon.Add(61 * time.Minute); !again.Equal(want) {
		t.Fatalf("lets go at %s, want %s", again, want)
	}
	f.input.Now = again.Add(-time.Second)
	f.expect(0, true)
	f.input.Now = again
	f.expect(1, false)
}

func TestGuardThatTimeDoesNotOpenHasNoDeadline(t *testing.T) {
	f := newFleet(t, 20)
	f.deselect(1)
	f.expect(1, false)
	f.deselect(10)
	f.expect(0, true)
	if again := Withdraw(f.input).Again; !again.IsZero() {
		t.Errorf("lets go at %s", again)
	}
}

func TestShareIsOfTheMostClustersInTheHour(t *testing.T) {
	f := newFleet(t, 50)
	for range 10 {
		f.deselect(1)
		f.expect(1, false)
		f.wait(time.Minute)
	}
	f.deselect(1)
	f.expect(0, true) // 10 of 50 is a fifth, though 8 of 40 would be.
	f.wait(2 * time.Hour)
	f.expect(1, false)
	f.deselect(7)
	f.expect(7, false)
	f.deselect(1)
	f.expect(0, true) // 8 of 40.
}

func TestConfirmationIsOfTheNumberThatWaits(t *testing.T) {
	f := newFleet(t, 12)
	f.deselect(5)
	f.expect(0, true)
	for _, stale := range []string{"4", "05", "5 ", "all"} {
		f.confirm(stale)
		f.expect(0, true)
		if text := Withdraw(f.input).String(); !strings.Contains(text, fmt.Sprintf("it says %q", stale)) || !strings.Contains(text, `confirm-withdrawal: "5"`) {
			t.Errorf("message %q", text)
		}
	}
	f.confirm("5")
	f.expect(5, false)
}

func TestConfirmationHoldsOnce(t *testing.T) {
	f := newFleet(t, 40)
	f.deselect(9)
	f.expect(0, true)
	f.confirm("9")
	f.expect(9, false)

	f.deselect(9)
	f.expect(0, true)
	if text := Withdraw(f.input).String(); !strings.Contains(text, "from before: remove it first") {
		t.Errorf("message %q", text)
	}
	f.wait(30 * 24 * time.Hour)
	f.expect(0, true)
	f.confirm("")
	f.expect(0, true)
	f.confirm("9")
	f.expect(9, false)
}

func TestConfirmationFromBeforeTheEditConfirmsNothing(t *testing.T) {
	f := newFleet(t, 40)
	f.confirm("9")
	f.expect(0, false)
	f.deselect(9)
	f.expect(0, true)
}

func TestConfirmationMayComeWithTheEdit(t *testing.T) {
	f := newFleet(t, 40)
	f.confirm("9")
	f.deselect(9)
	f.expect(9, false)
}

func TestConfirmedWithdrawalsDoNotCountLater(t *testing.T) {
	f := newFleet(t, 40)
	f.deselect(2)
	f.expect(2, false)
	f.deselect(18)
	f.confirm("18")
	f.expect(18, false)
	f.deselect(2)
	f.expect(2, false) // 4 of 20, beside those 18.
	f.deselect(1)
	f.expect(0, true)
}

func TestGuardSaysHowManyWhichAndWhatToDo(t *testing.T) {
	f := newFleet(t, 12)
	f.deselect(1)
	f.expect(1, false)
	f.deselect(4)
	summary := Summarize(f.input)
	verdict := Conclude(f.input.Policy, summary)
	want := `4 of 11 clusters would lose their target, beside 1 in the last hour, more than the 3 allowed within an hour. ` +
		`If that is meant, set the annotation daytwo.dev/confirm-withdrawal: "4"; if not, correct the selector or the labels. ` +
		`Held back: 4 clusters (a07, a08, a09, a10); ready in 7 clusters`
	if verdict.Message != want || verdict.Reason != metav1alpha1.ReasonWithdrawalGuard || !verdict.Stalled || verdict.Reconciling || verdict.Ready != "False" {
		t.Errorf("got %+v\nwant %s", verdict, want)
	}
	if summary.Terminating.Count != 0 {
		t.Errorf("leaving %v", summary.Terminating)
	}
}

// A confirmation that is given while a gate holds the deletions back is good when the gate opens.
func TestAConfirmedWithdrawalWaitsForAGate(t *testing.T) {
	f := newFleet(t, 12)
	f.input.Policy.Gates = []Gate{{Reason: "Frozen", Blocks: Delete, KeepsSlot: true}}
	f.deselect(6)
	f.expect(0, true)
	f.confirm("6")
	f.expect(0, false)
	f.expect(0, false)
	f.input.Policy.Gates = nil
	f.expect(6, false)
	f.deselect(4)
	f.expect(0, true)
}
