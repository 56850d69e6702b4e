package run

import (
	"testing"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// TestOnlyWhatIsAwaitedMayBePutOff: a person is told at once of what a run did, and no step is made before the one before it is stored.
func TestOnlyWhatIsAwaitedMayBePutOff(t *testing.T) {
	waiting := func(of *drill) { report(&of.status, of.GetGeneration(), noon, result{awaits: "InProgress"}) }
	before := underWay(waiting).Run
	for name, row := range map[string]struct {
		change func(*drill)
		put    bool
	}{
		"what is awaited": {func(of *drill) { report(&of.status, of.GetGeneration(), noon, result{awaits: "Finalizing"}) }, true},
		"an action begins": {func(of *drill) {
			of.status.Actions = append(of.status.Actions, begun("restore", ""))
			report(&of.status, of.GetGeneration(), noon, result{advanced: true})
		}, false},
		"a task begins": {func(of *drill) { of.status.Tasks = append(of.status.Tasks, metav1alpha1.RunTask{Name: "verify"}) }, false},
		"the run ends": {func(of *drill) {
			of.status.Outcome = metav1alpha1.RunFailed
			report(&of.status, of.GetGeneration(), noon, result{advanced: true})
		}, false},
		"somebody changed the spec": {func(of *drill) { report(&of.status, 7, noon, result{awaits: "InProgress"}) }, false},
	} {
		after := clone(before)
		row.change(after)
		if got := changeOf(drills{}, before, after).Follows; got != row.put {
			t.Errorf("%s: it may be put off: %v", name, got)
		}
	}
}
