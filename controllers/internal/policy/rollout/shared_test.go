package rollout

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// shared is a policy of the provider with clusters of several customers, in the order of their namespaces.
func shared(slots, failures int, clusters map[string]int) Input {
	input := Input{Policy: policy(slots), Now: noon}
	input.Policy.Shared, input.Policy.MaxFailures, input.Policy.ProgressDeadline = true, failures, 10*time.Minute
	for _, customer := range append([]string{"aaa"}, customers...) {
		for i := range clusters[customer] {
			one := cluster(clusterName(i))
			one.Namespace = customer
			existing := target(one.Name, oldRevision, Ready)
			existing.Cluster, existing.Name = one.ClusterKey, TargetName("cache", one.ClusterKey)
			input.Clusters, input.Targets = append(input.Clusters, one), append(input.Targets, existing)
		}
	}
	return input
}

// run rolls out for some hours. What changes is Ready at once, but for the customer's clusters, which never are.
func run(input Input, never string) Input {
	for range 200 {
		input = input.After(PlanRollout(input))
		for i := range input.Targets {
			if one := &input.Targets[i]; one.Cluster.Namespace != never {
				one.State, one.Since, one.Applied = Ready, time.Time{}, true
			}
		}
		input.Now = input.Now.Add(time.Minute)
	}
	return input
}

// updatedOf counts the clusters of a customer that have the new revision.
func updatedOf(input Input, customer string) (count int) {
	for _, one := range input.Targets {
		if one.Cluster.Namespace == customer && one.Revision == newRevision {
			count++
		}
	}
	return count
}

func TestTenNeverReadyClustersOfOneCustomerDelayNoOther(t *testing.T) {
	for _, failures := range []int{10, 0} {
		t.Run(fmt.Sprintf("maxFailures %d", failures), func(t *testing.T) {
			input := run(shared(10, failures, map[string]int{"aaa": 10, "acme": 20, "globex": 20}), "aaa")
			if acme, globex := updatedOf(input, "acme"), updatedOf(input, "globex"); acme != 20 || globex != 20 {
				t.Errorf("%d and %d of 20 are updated", acme, globex)
			}
			summary := Summarize(input)
			verdict := Conclude(input.Policy, summary)
			if summary.Ready.Count != 40 || verdict.Ready != "False" || !strings.Contains(verdict.Message, "aaa/a00: not Ready within 10m0s") {
				t.Errorf("%+v: %+v", summary, verdict)
			}
			if failures == 10 {
				if left := updatedOf(input, "aaa"); left != 10 || summary.Failed.Count != 10 || summary.Stopped != 0 || verdict.Reason != metav1alpha1.ReasonTargetsFailed {
					t.Errorf("%d of aaa are updated, %+v: %+v", left, summary, verdict)
				}
				return
			}
			stopped := summary.Stopped == 7 && verdict.Stalled && !verdict.Reconciling && verdict.Reason == metav1alpha1.ReasonRolloutStopped
			if left := updatedOf(input, "aaa"); left != 3 || !stopped || !strings.Contains(verdict.Message, "7 clusters are still to be changed") {
				t.Errorf("%d of aaa are updated, %+v: %+v", left, summary, verdict)
			}
		})
	}
}

// A new revision finds the clusters of a customer failed at the one before. They delay nobody either.
func TestClustersThatFailedBeforeDelayNoNewRevision(t *testing.T) {
	input := run(shared(10, 10, map[string]int{"aaa": 10, "acme": 20, "globex": 20}), "aaa")
	for i := range input.Clusters {
		input.Clusters[i].Revision = "cache-newer"
	}
	input = run(input, "aaa")
	if summary := Summarize(input); summary.Ready.Count != 40 || summary.Updated.Count != 40 || summary.Failed.Count != 10 {
		t.Errorf("%+v", summary)
	}
}

// Where only one other customer's clusters are Ready, nobody can tell whether it is the revision.
func TestSlotsReturnOnlyBesideTwoOtherCustomers(t *testing.T) {
	input := run(shared(6, 10, map[string]int{"aaa": 10, "acme": 20}), "aaa")
	if aaa, acme := updatedOf(input, "aaa"), updatedOf(input, "acme"); aaa != 2 || acme != 20 {
		t.Errorf("%d of aaa and %d of acme are updated", aaa, acme)
	}
	if summary := Summarize(input); summary.Stopped != 8 {
		t.Errorf("%+v", summary)
	}
}

// With one slot, a failed cluster has it. To hand it out again would let a bad revision break a second cluster, and to keep it stops
// the rollout: no rule can do both.
func TestASingleSlotStopsAtTheFirstFailure(t *testing.T) {
	input := run(shared(1, 1, map[string]int{"aaa": 1, "acme": 5, "globex": 5}), "aaa")
	if updated := updatedOf(input, "acme") + updatedOf(input, "globex"); updated != 0 {
		t.Errorf("%d others are updated", updated)
	}
	if summary := Summarize(input); summary.Stopped != 10 {
		t.Errorf("%+v", summary)
	}
}

func TestACustomersOwnPolicyStopsAtItsSlots(t *testing.T) {
	input := shared(3, 10, map[string]int{"acme": 10})
	input.Policy.Shared = false
	input = run(input, "acme")
	if updated := updatedOf(input, "acme"); updated != 3 {
		t.Errorf("%d are updated", updated)
	}
	verdict := Conclude(input.Policy, Summarize(input))
	if verdict.Reason != metav1alpha1.ReasonRolloutStopped || !strings.Contains(verdict.Message, "raise spec.rollout.maxConcurrent") {
		t.Errorf("%+v", verdict)
	}
}

func TestATargetThatCannotBeWrittenTakesNoSlot(t *testing.T) {
	input := shared(1, 0, map[string]int{"acme": 3})
	input.Policy.Shared, input.Targets = false, nil
	input.Clusters[0].Unwritten = true
	if plan := PlanRollout(input); len(plan.Create) != 1 || plan.Create[0].Name != clusterName(1) {
		t.Errorf("%+v", plan.Create)
	}
	input.Clusters = input.Clusters[:1]
	if plan := PlanRollout(input); len(plan.Create) != 1 {
		t.Errorf("it is not tried again: %+v", plan)
	}
}

func TestADeadlineThatPassesIsLookedAt(t *testing.T) {
	input := shared(1, 0, map[string]int{"acme": 2})
	input = input.After(PlanRollout(input))
	if again := PlanRollout(input).Again; !again.Equal(noon.Add(10 * time.Minute)) {
		t.Errorf("it asks for %s", again)
	}
	if summary := Summarize(input); summary.Failed.Count != 0 || summary.Progressing.Count != 2 {
		t.Errorf("before: %+v", summary)
	}
	input.Now = noon.Add(10 * time.Minute)
	if summary := Summarize(input); summary.Failed.Count != 1 || summary.Stopped != 1 {
		t.Errorf("after: %+v", summary)
	}
	input.Clusters[0].Gates = []Gate{{Reason: "Paused", Message: "paused", Blocks: Create | Update, KeepsSlot: true, Pauses: true}}
	if summary := Summarize(input); summary.Failed.Count != 0 {
		t.Errorf("while it is paused: %+v", summary)
	}
}

// Once its settings are written, a Ready target is on its way and looks like one that is broken. A slot that a broken target of a customer with
// a full share waits for is not for it: the next plan would touch what the first one left alone.
func TestSettingsThatAreWrittenGetATargetNoSlot(t *testing.T) {
	input := shared(2, 2, map[string]int{"acme": 2, "globex": 1})
	held, blocked, ready := &input.Targets[0], &input.Targets[1], &input.Targets[2]
	held.Revision, held.State, held.Since = newRevision, Progressing, noon
	blocked.State, blocked.Since, blocked.SettingsCurrent = Failed, noon, false
	ready.SettingsCurrent = false
	plan := PlanRollout(input)
	if len(plan.Update) != 0 || len(plan.SyncSettings) != 2 {
		t.Fatalf("plan %+v", plan)
	}
	if again := PlanRollout(input.After(plan)); !again.Empty() {
		t.Errorf("second plan %+v", again)
	}
}
