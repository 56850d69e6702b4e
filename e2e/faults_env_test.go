package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/e2e/faults"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

const (
	// restFor is how long no write may come after the end state. It is less than throttle.Health.First.
	restFor = 3 * time.Second
	// firstRetry is the first step of the manager's backoff; each is at least twice as long as the one before.
	firstRetry = 200 * time.Millisecond
)

// faultEnv is a customer with one cluster, to which a proxy leads.
type faultEnv struct {
	*customer
	fault   fault
	cluster string
	// other is a cluster that the customer has nothing to do with; only some faults need one.
	other string
	// proxy leads to the cluster; disturbed is the one that follows the rules, from since on.
	proxy, disturbed *faults.Proxy
	since            time.Time
	// wanted are the end states of an undisturbed run; nil in that itself.
	wanted map[string]outcome
}

func newFaultEnv(t *testing.T, fault fault) *faultEnv {
	t.Helper()
	borrowed := fault.borrow(t)
	e := &faultEnv{fault: fault, cluster: borrowed.full[0]}
	if len(borrowed.bare) > 0 {
		e.other = borrowed.bare[0]
	}
	e.proxy = faults.Start(t, fleetCluster(t, e.cluster).Config())
	if e.disturbed = e.proxy; fault.management {
		e.disturbed = toManagement
	}
	e.customer = moveIn(t, lent{full: borrowed.full})
	must(t, env.Lead(t.Context(), client.ObjectKey{Namespace: e.namespace, Name: e.cluster}, e.proxy.Kubeconfig()))
	expect.Eventually(t, "the manager comes through the proxy", func(context.Context) error {
		if len(e.proxy.Requests(faults.Match{Resources: []string{"namespaces"}})) == 0 {
			return fmt.Errorf("it has not come")
		}
		return nil
	})
	e.awaitCluster(e.cluster, metav1alpha1.ConditionReady, metav1.ConditionTrue, "")
	return e
}

// run prepares the scenarios, disturbs all of them, and compares how they end. It returns that.
func (e *faultEnv) run(table *resultTable, wanted map[string]outcome) map[string]outcome {
	e.Helper()
	e.wanted = wanted
	row := table.row(e.fault.name)
	scenarios := e.prepare()
	e.since = time.Now()
	rules := e.inject()
	if e.fault.course != nil {
		e.fault.course(e, scenarios)
	} else {
		actAll(scenarios)
	}
	outcomes := e.await(scenarios, row)
	for _, rule := range rules {
		row.disturbed += rule.Count()
		rule.Remove()
	}
	if e.fault.rules != nil && row.disturbed == 0 {
		e.Errorf("no request met the fault")
	}
	row.took = time.Since(e.since)
	e.rests()
	row.tries = e.mostTries()
	return outcomes
}

func (e *faultEnv) inject() []*faults.Injected {
	var injected []*faults.Injected
	for _, rule := range e.fault.rules {
		injected = append(injected, e.disturbed.Inject(rule))
	}
	if e.fault.reopen {
		e.disturbed.Disconnect()
		expect.Eventually(e, "the fault is met", func(context.Context) error {
			if injected[0].Count() == 0 {
				return fmt.Errorf("no request met it")
			}
			return nil
		})
	}
	return injected
}

// await waits for the end of each scenario. They go on at the same time, so one after the other is waited for.
func (e *faultEnv) await(scenarios []scenario, row *resultRow) map[string]outcome {
	outcomes := map[string]outcome{}
	for _, s := range scenarios {
		e.Run(s.name, func(t *testing.T) {
			defer func() { row.tell(s.name, !t.Failed()) }()
			outcomes[s.name] = s.end(e.in(t))
			switch {
			case e.wanted == nil:
			case e.fault.ownEtcd:
				// Helm's history is that of the snapshot, and goes on from there.
				sameContents(t, "restored", outcomes[s.name].contents, e.wanted[s.name].contents)
			default:
				e.wanted[s.name].same(t, outcomes[s.name])
			}
		})
	}
	return outcomes
}

// rests complains about writes to either cluster after the end state. Other tests write to the management cluster too,
// unless it is the one that is disturbed.
func (e *faultEnv) rests() {
	e.Helper()
	end := time.Now()
	expect.Eventually(e, "time has passed", func(context.Context) error {
		if passed := time.Since(end); passed < restFor {
			return fmt.Errorf("it is %s", passed)
		}
		return nil
	})
	passed := e.proxy.Requests(writes)
	if e.fault.management {
		passed = append(passed, e.disturbed.Requests(writes)...)
	}
	putOff := map[string]bool{}
	for _, one := range passed {
		// Events are written by a goroutine of their own, when it gets to it.
		if !one.IsWrite() || !one.Arrived.After(end) || one.Resource == "events.events.k8s.io" {
			continue
		}
		// A status that only mirrors was put off, at most once for each object in this time.
		late := strings.HasSuffix(one.Resource, "/status") && !putOff[one.Path]
		putOff[one.Path] = true
		if !late {
			e.Errorf("%s after the end state there is another write: %s %s?%s, answered %d", one.Arrived.Sub(end), one.Verb, one.Path, one.Query, one.Code)
		}
	}
}

// identityPath is what tells clusters apart. Every kind, and every batch of writes, asks for it on its own account.
const identityPath = "/api/v1/namespaces/kube-system"

// mostTries is how often the request was sent that failed most often. It complains if that is more than the backoff allows.
func (e *faultEnv) mostTries() int {
	e.Helper()
	most := 0
	if !e.fault.refuses {
		return most
	}
	tries := map[string][]time.Time{}
	for _, one := range e.disturbed.Requests(faults.Match{Resources: []string{"*"}}) {
		// Objects that are created share a path.
		if one.Disturbed && one.Arrived.After(e.since) && one.Path != identityPath && one.Verb != "create" {
			key := one.Verb + " " + one.Path
			tries[key] = append(tries[key], one.Arrived)
		}
	}
	for key, at := range tries {
		most = max(most, len(at))
		// In the management cluster each change of a target is a reason of its own to write its policy's status.
		if allowed := requestsWithin(at[len(at)-1].Sub(at[0])); len(at) > allowed && !e.fault.management {
			e.Errorf("%s failed %d times within %s, where the backoff allows %d", key, len(at), at[len(at)-1].Sub(at[0]), allowed)
		}
	}
	return most
}

// requestsWithin is how many requests for one object may fail in a time: two in each try that the backoff allows, since a
// correction is an apply and may be a patch that takes over what others own. Two tries more are allowed: an event in the
// cluster is a reason of its own to try again, and so is the list after a watch that failed.
func requestsWithin(passed time.Duration) int {
	tries := 3
	for step, at := firstRetry, firstRetry; at <= passed; at += step {
		tries, step = tries+1, 2*step
	}
	return 2 * tries
}

func actAll(scenarios []scenario) {
	for _, s := range scenarios {
		s.act()
	}
}

// switchBackend leads the manager into another cluster, over the connection that it has, and back again.
func (e *faultEnv) switchBackend(scenarios []scenario) {
	e.Helper()
	must(e, e.proxy.Switch(fleetCluster(e, e.other).Config()))
	actAll(scenarios)
	e.awaitCluster(e.cluster, metav1alpha1.ConditionReady, metav1.ConditionFalse, "")
	objects, err := labelled(e.Context(), e.other)
	must(e, err)
	for i := range objects {
		if namespace := objects[i].GetNamespace(); slices.Contains(scenarioNames(), namespace) {
			e.Errorf("%s is in a cluster that it does not belong to", id(&objects[i]))
		}
	}
	must(e, e.proxy.Switch(fleetCluster(e, e.cluster).Config()))
}

// restore puts the cluster back to what it was before the acts, when all but the deletion has ended: what is deleted
// and comes back with a restore belongs to no add-on any more.
func (e *faultEnv) restore(scenarios []scenario) {
	e.Helper()
	cluster := fleetCluster(e, e.cluster)
	snapshot, err := cluster.Snapshot(e.Context())
	must(e, err)
	last := len(scenarios) - 1
	actAll(scenarios[:last])
	for _, s := range scenarios[:last] {
		s.end(e.customer)
	}
	must(e, cluster.Restore(e.Context(), snapshot))
	// Until the connection is found to be lost, status may be of before.
	for _, s := range scenarios[:last] {
		expect.Eventually(e, s.name+" is done again", func(context.Context) error {
			return e.wanted[s.name].missing(e.contentsOf(e.customer, s.name))
		})
	}
	// The rollout removed it, and the restore brought it back.
	waitGone(e, e.workload(e.cluster), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: rollout, Name: "part-02"}})
	scenarios[last].act()
}
