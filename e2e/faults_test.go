package e2e

import (
	"context"
	"flag"
	"testing"
	"time"

	"github.com/daytwo-dev/daytwo/e2e/faults"
	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
)

var (
	allFaults  = flag.Bool("all-faults", false, "inject all faults, not only one of each sort")
	faultTable = flag.String("fault-table", "", "file to write the table of faults to")
)

// fault disturbs what passes between the manager and a cluster.
type fault struct {
	name string
	// rules are followed from before the first act until the end state is reached.
	rules []faults.Rule
	// management tells that they are followed between the manager and the management cluster, and not a workload cluster.
	management bool
	// reopen closes the connection once the rules are followed, so that lists and watches meet them too.
	reopen bool
	// refuses tells that requests which the rules apply to fail, so that what follows them are retries.
	refuses bool
	// course of the acts, where that is another than all at once.
	course func(*faultEnv, []scenario)
	// other and ownEtcd say what the course needs: a second cluster, and one that can be restored.
	other, ownEtcd bool
	// rare faults are like another one, or take minutes, since they last as long as a deadline of the manager. Only
	// make faults injects them, which is for a nightly run.
	rare bool
}

const (
	// everySecond request, so many times, is met by a fault that nothing could be done under if it stayed.
	everySecond, disturbances = 2, 20
	slowness                  = 300 * time.Millisecond
	// tooSlow is more than the manager waits for a list.
	tooSlow = 40 * time.Second
)

func some(match faults.Match, action faults.Action) []faults.Rule {
	return []faults.Rule{{Match: match, Every: everySecond, Times: disturbances, Action: action}}
}

func few(match faults.Match, action faults.Action) []faults.Rule {
	return []faults.Rule{{Match: match, Every: everySecond, Times: 3, Action: action}}
}

// first disturbs so many requests, and then no more: what is stale or silent for ever says nothing of what is so.
func first(times int, match faults.Match, action faults.Action) []faults.Rule {
	return []faults.Rule{{Match: match, Times: times, Action: action}}
}

func all(match faults.Match, action faults.Action) []faults.Rule {
	return []faults.Rule{{Match: match, Action: action}}
}

var (
	writes   = faults.Match{Verbs: faults.Writes()}
	applies  = faults.Match{Verbs: []string{"create", "update", "patch"}}
	deletes  = faults.Match{Verbs: []string{"delete"}}
	requests = faults.Match{Verbs: append(faults.Writes(), "get", "list"), Resources: []string{"*"}}
	lists    = faults.Match{Verbs: []string{"list"}}
	watches  = faults.Match{Verbs: []string{"watch"}}
	kinds    = faults.Match{Verbs: []string{faults.Discover}}
)

// workloadFaults are in the order of the table.
func workloadFaults() []fault {
	return []fault{
		{name: "409 Conflict on applies", rules: some(applies, faults.Conflict()), refuses: true},
		{name: "409 Conflict on deletions", rules: few(deletes, faults.Conflict()), refuses: true, rare: true},
		{name: "429 Too Many Requests", rules: some(requests, faults.TooManyRequests(time.Second)), refuses: true, rare: true},
		{name: "500 Internal Server Error", rules: some(requests, faults.InternalError()), refuses: true},
		{name: "503 Service Unavailable", rules: some(requests, faults.Unavailable()), refuses: true, rare: true},
		{name: "403 Forbidden", rules: few(writes, faults.Forbidden()), refuses: true, rare: true},
		{name: "404 on discovery", rules: few(kinds, faults.NotFound()), reopen: true},
		{name: "truncated body", rules: some(requests, faults.Truncate()), refuses: true},
		{name: "garbage with 200", rules: some(requests, faults.Garbage()), refuses: true, rare: true},
		{name: "answer lost after commit", rules: some(writes, faults.LoseAnswer()), refuses: true},
		{name: "connection lost after commit", rules: few(writes, faults.LoseConnection()), refuses: true, rare: true},
		{name: "duplicated delivery", rules: all(writes, faults.Duplicate())},
		{name: "slow", rules: all(requests, faults.Delay(slowness)), rare: true},
		{name: "hang", rules: few(requests, faults.Hang()), refuses: true, rare: true},
		{name: "watch silent", rules: first(8, watches, faults.SilenceWatch()), reopen: true, rare: true},
		{name: "watch 410", rules: some(watches, faults.ExpireWatch()), reopen: true, refuses: true},
		{name: "list too slow", rules: few(lists, faults.Delay(tooSlow)), reopen: true, refuses: true, rare: true},
		{name: "stale list", rules: first(disturbances, lists, faults.StaleLists()), reopen: true},
		{name: "events duplicated and delayed", rules: all(watches, faults.RepeatEvents(slowness)), reopen: true},
		{name: "backend switched", course: (*faultEnv).switchBackend, other: true, rare: true},
		{name: "etcd restored", course: (*faultEnv).restore, ownEtcd: true, rare: true},
	}
}

// managementFaults are in the order of the table. Of what the management cluster serves the manager asks only when it starts.
func managementFaults() []fault {
	list := []fault{
		{name: "409 Conflict on writes", rules: some(writes, faults.Conflict()), refuses: true, rare: true},
		{name: "429 Too Many Requests", rules: some(requests, faults.TooManyRequests(time.Second)), refuses: true, rare: true},
		{name: "500 Internal Server Error", rules: some(requests, faults.InternalError()), refuses: true, rare: true},
		{name: "503 Service Unavailable", rules: some(requests, faults.Unavailable()), refuses: true, rare: true},
		{name: "403 Forbidden", rules: few(writes, faults.Forbidden()), refuses: true, rare: true},
		{name: "truncated body", rules: some(requests, faults.Truncate()), refuses: true, rare: true},
		{name: "garbage with 200", rules: some(requests, faults.Garbage()), refuses: true, rare: true},
		{name: "answer lost after commit", rules: some(writes, faults.LoseAnswer()), refuses: true},
		{name: "connection lost after commit", rules: few(writes, faults.LoseConnection()), refuses: true, rare: true},
		{name: "duplicated delivery", rules: all(writes, faults.Duplicate()), rare: true},
		{name: "slow", rules: all(requests, faults.Delay(slowness)), rare: true},
		{name: "hang", rules: few(requests, faults.Hang()), refuses: true, rare: true},
		{name: "watch silent", rules: first(8, watches, faults.SilenceWatch()), reopen: true, rare: true},
		{name: "watch 410", rules: some(watches, faults.ExpireWatch()), reopen: true, refuses: true},
		// The manager's caches are filled by watches that begin with what there is.
		{name: "watch too slow to begin", rules: few(watches, faults.Delay(tooSlow)), reopen: true, refuses: true, rare: true},
		{name: "events duplicated and delayed", rules: all(watches, faults.RepeatEvents(slowness)), reopen: true, rare: true},
	}
	for i := range list {
		list[i].management = true
	}
	return list
}

// TestFaultsChangeNoEndState runs each fault while four add-ons are rolled out, upgraded, changed by hand and deleted.
// Each has to end as it does undisturbed, and then to rest.
func TestFaultsChangeNoEndState(t *testing.T) {
	t.Parallel()
	runFaults(t, workloadTable, workloadFaults(), func(t *testing.T, run func(*testing.T)) {
		t.Parallel()
		run(t)
	})
}

// TestFaultsOfTheManagementClusterChangeNoEndState does the same where the fault is between the manager and the
// management cluster. What it injects would meet all other tests too, so it runs alone.
func TestFaultsOfTheManagementClusterChangeNoEndState(t *testing.T) {
	runFaults(t, managementTable, managementFaults(), func(t *testing.T, run func(*testing.T)) { run(t) })
}

// runFaults runs the scenarios undisturbed, and then once with each fault.
func runFaults(t *testing.T, table *resultTable, faults []fault, how func(t *testing.T, run func(*testing.T))) {
	var wanted map[string]outcome
	if !t.Run("none", func(t *testing.T) { wanted = newFaultEnv(t, fault{name: "none"}).run(table, nil) }) {
		return
	}
	t.Cleanup(func() { publish(t, table) })
	for _, fault := range faults {
		if fault.rare && !*allFaults {
			continue
		}
		t.Run(fault.name, func(t *testing.T) {
			how(t, func(t *testing.T) { newFaultEnv(t, fault).run(table, wanted) })
		})
	}
}

// borrow returns one cluster for the scenarios, and the other one if the fault needs that.
func (f fault) borrow(t *testing.T) lent {
	t.Helper()
	if f.ownEtcd {
		const name = "restorable"
		cluster, err := env.Fleet.AddCluster(t.Context(), name, localfleet.ClusterOptions{OwnEtcd: true})
		must(t, err)
		t.Cleanup(func() { must(t, cluster.Stop(context.Background())) })
		return lent{full: []string{name}}
	}
	bare := 0
	if f.other {
		bare = 1
	}
	borrowed := clusters.take(1, bare)
	t.Cleanup(func() { clusters.giveBack(borrowed) })
	return borrowed
}
