package rollout

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
)

// newSharedFleet has so many clusters of each customer, a00, a01, … with a target each.
func newSharedFleet(t *testing.T, sizes map[string]int) *fleet {
	f := &fleet{t: t, input: Input{Policy: policy(1000), Now: noon}}
	f.input.Policy.Shared = true
	for _, customer := range slices.Sorted(maps.Keys(sizes)) {
		for i := range sizes[customer] {
			one := cluster(clusterName(i))
			one.Namespace = customer
			f.input.Clusters = append(f.input.Clusters, one)
		}
	}
	for len(f.input.Targets) < len(f.input.Clusters) {
		f.next()
	}
	return f
}

// deleteClusters deletes the first TenantClusters of a customer that are not being deleted yet.
func (f *fleet) deleteClusters(customer string, count int) {
	for i := range f.input.Clusters {
		if one := &f.input.Clusters[i]; count > 0 && one.Namespace == customer && !one.Deleting {
			one.Deleting = true
			count--
		}
	}
}

// lostOf counts the targets of a customer that a plan deletes.
func (f *fleet) lostOf(customer string, plan Plan) (count int) {
	for _, target := range f.input.Targets {
		if target.Cluster.Namespace == customer && slices.Contains(plan.Delete, target.Name) {
			count++
		}
	}
	return count
}

// expectOf plans, and checks how many clusters a customer loses.
func (f *fleet) expectOf(customer string, lost int) Plan {
	f.t.Helper()
	plan := PlanRollout(f.input)
	if count := f.lostOf(customer, plan); count != lost {
		f.t.Fatalf("%d of %s are lost, want %d (%s)", count, customer, lost, plan.Withdrawal)
	}
	f.carryOut(plan)
	return plan
}

func TestTenDeletionsOfOneCustomerHoldNoOthersSingleOneBack(t *testing.T) {
	f := newSharedFleet(t, map[string]int{"acme": 20, "globex": 12, "initech": 12})
	f.deleteClusters("acme", 10)
	plan := f.expectOf("acme", 0)
	if text := plan.Withdrawal.String(); !strings.Contains(text, "10 of 20 clusters of namespace acme would lose their target, more than the 4 allowed") ||
		!strings.Contains(text, `confirm-withdrawal: "acme=10"`) || plan.Withdrawal.IsHeld() {
		t.Errorf("message %q", text)
	}
	f.deleteClusters("globex", 1)
	f.expectOf("globex", 1)
	f.expectOf("acme", 0)

	// The provider's own edit is counted and confirmed by itself.
	f.input.Clusters = slices.DeleteFunc(f.input.Clusters, func(c Cluster) bool { return c.Namespace == "initech" })
	plan = f.expectOf("initech", 0)
	if text := plan.Withdrawal.String(); !plan.Withdrawal.IsHeld() || !strings.Contains(text, `12 of 33 clusters would lose`) || !strings.Contains(text, `confirm-withdrawal: "12"`) {
		t.Errorf("message %q", text)
	}
	f.confirm("12")
	f.expectOf("acme", 0)
	if left := f.input.has(); left != 31 {
		t.Errorf("%d clusters are left", left)
	}
	f.confirm("12,acme=10")
	f.expectOf("acme", 10)
	f.deleteClusters("acme", 10)
	f.expectOf("acme", 0) // Each value confirms once.
	if namespaces := f.input.Withdrawals.Namespaces; len(namespaces) != 2 || namespaces[0].SpentConfirmation != "acme=10" {
		t.Errorf("record %+v", namespaces)
	}
}

func TestAConfirmationOfOneNamespaceConfirmsNoOther(t *testing.T) {
	f := newSharedFleet(t, map[string]int{"acme": 20, "globex": 20})
	f.deleteClusters("acme", 10)
	f.deleteClusters("globex", 10)
	for _, value := range []string{"10", "20", "globex=1", "acme=9,globex=11", "=10"} {
		f.confirm(value)
		f.expectOf("acme", 0)
		f.expectOf("globex", 0)
	}
	f.confirm("globex=10")
	f.expectOf("globex", 10)
	f.expectOf("acme", 0)
}

func TestADeletionIsConfirmedWhateverTheNamespaceIsCalled(t *testing.T) {
	longest := strings.Repeat("n", validation.DNS1123LabelMaxLength)
	f := newSharedFleet(t, map[string]int{longest: 20, "globex": 20})
	f.deleteClusters(longest, 12)
	f.expectOf(longest, 0)
	f.confirm(longest + "=12")
	f.expectOf(longest, 12)
	if spent := f.input.Withdrawals.Namespaces[0].SpentConfirmation; spent != longest+"=12" {
		t.Errorf("spent is %q", spent)
	}
}

// A customer who takes the finalizers of TenantClusters away is not taken for the provider who edits a selector.
func TestClustersThatAreGoneCountForTheirNamespace(t *testing.T) {
	f := newSharedFleet(t, map[string]int{"acme": 20, "globex": 12})
	f.input.Clusters = slices.DeleteFunc(f.input.Clusters, func(c Cluster) bool { return c.Namespace == "acme" })
	for i := range f.input.Targets {
		f.input.Targets[i].ClusterGone = f.input.Targets[i].Cluster.Namespace == "acme"
	}
	if plan := f.expectOf("acme", 0); plan.Withdrawal.IsHeld() || !plan.Withdrawal.Held {
		t.Errorf("%+v", plan.Withdrawal)
	}
	f.deleteClusters("globex", 1)
	f.expectOf("globex", 1)
}

func TestDeletionsOfANamespaceCountForAnHour(t *testing.T) {
	f := newSharedFleet(t, map[string]int{"acme": 10})
	f.deleteClusters("acme", 3)
	f.expectOf("acme", 3)
	f.deleteClusters("acme", 1)
	plan := f.expectOf("acme", 0)
	if want := noon.Add(70 * time.Minute); !plan.Withdrawal.Again.Equal(want) {
		t.Errorf("lets go at %s, want %s", plan.Withdrawal.Again, want)
	}
	f.input.Now = plan.Withdrawal.Again
	f.expectOf("acme", 1)
}

func TestARecordHasBoundedNamespaces(t *testing.T) {
	f := &fleet{t: t, input: Input{Policy: policy(1000), Now: noon}}
	f.input.Policy.Shared = true
	for i := range maxRecordedNamespaces + 1 {
		one := cluster("prod")
		one.Namespace = fmt.Sprintf("customer-%03d", i)
		f.input.Clusters = append(f.input.Clusters, one)
	}
	for len(f.input.Targets) < len(f.input.Clusters) {
		f.next()
	}
	for i := range f.input.Clusters {
		f.input.Clusters[i].Deleting = true
	}
	plan := f.next()
	if len(plan.Delete) != maxRecordedNamespaces || !plan.Withdrawal.Held || len(f.input.Withdrawals.Namespaces) != maxRecordedNamespaces {
		t.Fatalf("%d are lost, %d on record (%s)", len(plan.Delete), len(f.input.Withdrawals.Namespaces), plan.Withdrawal)
	}
	again := PlanRollout(f.input).Withdrawal.Again
	if !again.Equal(noon.Add(70 * time.Minute)) {
		t.Fatalf("the last one goes at %s", again)
	}
	f.input.Now = again
	f.input.Withdrawals = CurrentWithdrawals(f.input.Withdrawals, again)
	if plan := f.next(); len(plan.Delete) != 1 {
		t.Errorf("%d are lost (%s)", len(plan.Delete), plan.Withdrawal)
	}
}

// Whatever acme deletes, what becomes of the others, and the numbers that confirm it, are the same.
func TestWhatOneCustomerDeletesChangesNothingForOthers(t *testing.T) {
	source := random(t)
	for range 60 {
		sizes := map[string]int{"acme": source.IntN(40), "globex": source.IntN(40), "initech": source.IntN(40)}
		with, without := newSharedFleet(t, sizes), newSharedFleet(t, sizes)
		for range 20 {
			with.deleteClusters("acme", source.IntN(8))
			editOthers(source, with, without)
			plan, same := with.next(), without.next()
			if a, b := othersIn(with, plan), othersIn(without, same); !reflect.DeepEqual(a, b) {
				t.Fatalf("%v with deletions of acme, %v without", a, b)
			}
		}
	}
}

// editOthers does the same to both fleets: a customer deletes clusters, or the provider confirms or deselects some.
func editOthers(source *rand.Rand, fleets ...*fleet) {
	customer, count, kind := []string{"globex", "initech"}[source.IntN(2)], source.IntN(6), source.IntN(5)
	pause := time.Duration(source.IntN(12)) * time.Minute
	for _, f := range fleets {
		switch kind {
		case 0:
			for range count {
				at := slices.IndexFunc(f.input.Clusters, func(c Cluster) bool { return c.Namespace == customer && !c.Deleting })
				if at >= 0 {
					f.input.Clusters = slices.Delete(f.input.Clusters, at, at+1)
				}
			}
		case 1:
			f.confirm(customer + "=" + strconv.Itoa(count))
		default:
			f.deleteClusters(customer, count)
		}
		f.wait(pause)
	}
}

// othersIn is which clusters of others a plan deletes, and what confirms the rest. Of how many clusters a policy's share is, deletions do change.
func othersIn(f *fleet, plan Plan) (others []string) {
	for _, g := range plan.Withdrawal.groups {
		if g.namespace != "acme" && g.namespace != "" && g.clusters.Count > 0 {
			others = append(others, fmt.Sprint(g.confirmedBy, g.held, g.has, g.recent))
		}
	}
	return others
}
