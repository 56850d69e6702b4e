package e2e

import (
	"flag"
	"testing"
	"time"

	"github.com/daytwo-dev/daytwo/e2e/faults"
)

var faultTable = flag.String("fault-table", "", "file to write the table of faults to")

// fault disturbs what passes between the manager and a workload cluster.
type fault struct {
	name string
	// rules are followed from before the first act until the end state is reached.
	rules []faults.Rule
	// reopen closes the connection once the rules are followed, so that lists and watches meet them too.
	reopen bool
	// refuses tells that requests which the rules apply to fail, so that what follows them are retries.
	refuses bool
}

const (
	// everySecond request, so many times, is met by a fault that nothing could be done under if it stayed.
	everySecond, disturbances = 2, 20
	slowness                  = 300 * time.Millisecond
)

// workloadFaults are in the order of the table.
func workloadFaults() []fault {
	writes, applies := faults.Match{Verbs: faults.Writes()}, faults.Match{Verbs: []string{"create", "update", "patch"}}
	requests := faults.Match{Verbs: append(faults.Writes(), "get", "list"), Resources: []string{"*"}}
	watches := faults.Match{Verbs: []string{"watch"}}
	some := func(match faults.Match, action faults.Action) []faults.Rule {
		return []faults.Rule{{Match: match, Every: everySecond, Times: disturbances, Action: action}}
	}
	all := func(match faults.Match, action faults.Action) []faults.Rule {
		return []faults.Rule{{Match: match, Action: action}}
	}
	few := func(match faults.Match, action faults.Action) []faults.Rule {
		return []faults.Rule{{Match: match, Every: everySecond, Times: 3, Action: action}}
	}
	return []fault{
		{name: "409 Conflict on applies", rules: some(applies, faults.Conflict()), refuses: true},
		{name: "429 Too Many Requests", rules: some(requests, faults.TooManyRequests(time.Second)), refuses: true},
		{name: "500 Internal Server Error", rules: some(requests, faults.InternalError()), refuses: true},
		{name: "truncated body", rules: some(requests, faults.Truncate()), refuses: true},
		{name: "answer lost after commit", rules: some(writes, faults.LoseAnswer()), refuses: true},
		{name: "connection lost after commit", rules: few(writes, faults.LoseConnection()), refuses: true},
		{name: "duplicated delivery", rules: all(writes, faults.Duplicate())},
		{name: "slow", rules: all(requests, faults.Delay(slowness))},
		{name: "events duplicated and delayed", rules: all(watches, faults.RepeatEvents(slowness)), reopen: true},
	}
}

// TestFaultsChangeNoEndState runs each fault while four add-ons are rolled out, upgraded, changed by hand and deleted.
// Each has to end as it does undisturbed, and then to rest.
func TestFaultsChangeNoEndState(t *testing.T) {
	t.Parallel()
	table := &resultTable{}
	var wanted map[string]outcome
	if !t.Run("none", func(t *testing.T) { wanted = newFaultEnv(t, fault{name: "none"}).run(table, nil) }) {
		return
	}
	t.Cleanup(func() { table.publish(t) })
	for _, fault := range workloadFaults() {
		t.Run(fault.name, func(t *testing.T) {
			t.Parallel()
			newFaultEnv(t, fault).run(table, wanted)
		})
	}
}
