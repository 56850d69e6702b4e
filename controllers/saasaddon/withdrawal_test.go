package saasaddon

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

// deselected is an add-on that is ready in some clusters, none of which it selects any more.
func deselected(t *testing.T, clusters int) observed {
	t.Helper()
	seen := settled(t)
	template := seen.targets[0]
	seen.clusters, seen.targets = nil, nil
	for i := range clusters {
		target := template.DeepCopy()
		target.Spec.ClusterRef.Name = fmt.Sprintf("prod-%d", i)
		target.Name = rollout.TargetName("cache", rollout.ClusterKey(target.Spec.ClusterRef))
		seen.targets = append(seen.targets, *target)
	}
	return seen
}

func lostAt(at time.Time, count, clusters int32) metav1alpha1.WithdrawalMinute {
	return metav1alpha1.WithdrawalMinute{Minute: metav1.NewTime(at.Truncate(time.Minute)), Count: count, Clusters: clusters}
}

func TestWithdrawalGuardIsReported(t *testing.T) {
	tests := map[string]struct {
		clusters int
		change   func(*observed)
		failed   error
		reason   string
		message  string
		again    time.Duration
	}{
		"too many are held back": {
			clusters: 5, reason: metav1alpha1.ReasonWithdrawalGuard,
			message: `5 of 5 clusters would lose their target, more than the 3 allowed within an hour. If that is meant, set the annotation daytwo.dev/confirm-withdrawal: "5"`,
		},
		"with a problem the guard is told first": {
			clusters: 5, reason: metav1alpha1.ReasonWithdrawalGuard, message: "ConfigMap x is missing",
			change: func(o *observed) {
				o.problem = &problem{reason: addonsv1alpha1.ReasonReferenceNotFound, message: "ConfigMap x is missing"}
			},
		},
		"with a failure it stays": {
			clusters: 5, failed: errors.New("quota exceeded"), reason: metav1alpha1.ReasonWithdrawalGuard, message: "quota exceeded",
		},
		"what is held back by what was lost before goes when that is an hour ago": {
			clusters: 2, reason: metav1alpha1.ReasonWithdrawalGuard, message: "beside 2 in the last hour", again: 11 * time.Minute,
			change: func(o *observed) {
				o.addon.Status.Withdrawals.Recent = []metav1alpha1.WithdrawalMinute{lostAt(noon.Add(-50*time.Minute), 2, 4)}
			},
		},
		"a larger share may be allowed": {
			clusters: 5, reason: metav1alpha1.ReasonNoClusters,
			change: func(o *observed) { o.addon.Spec.WithdrawalGuard.MaxPercent = ptr.To[int32](100) },
		},
		"a deleted add-on is not guarded": {
			clusters: 5, reason: metav1alpha1.ReasonDeleting,
			change: func(o *observed) { o.addon.DeletionTimestamp = &metav1.Time{Time: noon} },
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			seen := deselected(t, test.clusters)
			if test.change != nil {
				test.change(&seen)
			}
			result := report(seen, plan(seen), applied{err: test.failed})
			ready := meta.FindStatusCondition(result.status.Conditions, metav1alpha1.ConditionReady)
			if ready.Reason != test.reason || !strings.Contains(ready.Message, test.message) {
				t.Errorf("Ready is %s %q", ready.Reason, ready.Message)
			}
			stalled := meta.IsStatusConditionTrue(result.status.Conditions, metav1alpha1.ConditionStalled)
			if want := test.reason == metav1alpha1.ReasonWithdrawalGuard; stalled != want {
				t.Errorf("Stalled is %t", stalled)
			}
			if result.again != test.again {
				t.Errorf("again in %s, want %s", result.again, test.again)
			}
		})
	}
}

func TestWithdrawalGuardIsAnnouncedOnce(t *testing.T) {
	seen := deselected(t, 5)
	first := report(seen, plan(seen), applied{})
	if len(first.events) == 0 || first.events[len(first.events)-1].reason != metav1alpha1.ReasonWithdrawalGuard {
		t.Errorf("events %+v", first.events)
	}
	seen.addon.Status = first.status
	seen.targets = append(seen.targets, *seen.targets[0].DeepCopy())
	seen.targets[5].Name = "another"
	second := report(seen, plan(seen), applied{})
	if len(second.events) > 0 {
		t.Errorf("events %+v", second.events)
	}
}

// A confirmation whose record could not be stored is not lost: the status at the end has it.
func TestConfirmedWithdrawalThatCouldNotBeRecordedIsCarriedOutNextTime(t *testing.T) {
	seen := deselected(t, 5)
	seen.addon.Annotations = map[string]string{metav1alpha1.AnnotationConfirmWithdrawal: "5"}
	todo := plan(seen)
	first := report(seen, todo, applied{rollout: rollout.Plan{Withdrawal: todo.Rollout.Withdrawal}, err: errors.New("timeout")})
	if len(first.events) != 1 || first.events[0].reason != eventConfirmed {
		t.Errorf("events %+v", first.events)
	}
	seen.addon.Status = first.status
	todo = plan(seen)
	if len(todo.Rollout.Delete) != 5 || todo.Rollout.Withdrawal.Confirmed {
		t.Errorf("plan %+v", todo.Rollout)
	}
	second := report(seen, todo, applied{rollout: todo.Rollout})
	if record := second.status.Withdrawals; record.Underway != nil || len(record.Recent) > 0 || record.SpentConfirmation != "5" {
		t.Errorf("remembers %+v", record)
	}
}

// What does not count any more causes no write, and goes with the next one.
func TestOldWithdrawalsGoWithTheNextChangeOfTheStatus(t *testing.T) {
	seen := settled(t)
	seen.addon.Status = report(seen, plan(seen), applied{}).status
	seen.addon.Status.Withdrawals.Recent = []metav1alpha1.WithdrawalMinute{lostAt(noon.Add(-2*time.Hour), 1, 2)}
	if unchanged := report(seen, plan(seen), applied{}).status; !reflect.DeepEqual(unchanged, seen.addon.Status) {
		t.Errorf("changed to %+v", unchanged)
	}
	seen.addon.Generation++
	if left := report(seen, plan(seen), applied{}).status.Withdrawals.Recent; len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

func TestOwnDeletionsAreAwaited(t *testing.T) {
	one := addonsv1alpha1.AddonRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "a", ResourceVersion: "200", Labels: map[string]string{metav1alpha1.LabelPolicy: "cache"}}}
	key := addonOf(&one)
	leaving := *one.DeepCopy()
	leaving.DeletionTimestamp = &metav1.Time{Time: noon}
	writes := &ownWrites{}
	writes.recordDeletion(key, "a", noon)
	if !writes.ahead(key, []addonsv1alpha1.AddonRelease{one}, noon) {
		t.Error("a target that was deleted is taken for one that stays")
	}
	if writes.ahead(key, []addonsv1alpha1.AddonRelease{leaving}, noon) {
		t.Error("a target that is being deleted is not recognised")
	}
	writes.recordDeletion(key, "a", noon)
	if writes.ahead(key, nil, noon) {
		t.Error("a target that is gone is awaited")
	}
}

const tier = "tier"

// addFleet creates clusters of tier gold, and an add-on of that tier that has a target in each.
func (c *customer) addFleet(size int) (*addonsv1alpha1.SaaSAddon, []*tenancyv1alpha1.TenantCluster) {
	c.Helper()
	var clusters []*tenancyv1alpha1.TenantCluster
	for i := range size {
		clusters = append(clusters, c.addCluster(fmt.Sprintf("prod-%02d", i), map[string]string{tier: "gold"}))
	}
	addon := c.addAddon(func(a *addonsv1alpha1.SaaSAddon) {
		a.Spec.ClusterSelector = &metav1.LabelSelector{MatchLabels: map[string]string{tier: "gold"}}
		a.Spec.Rollout.MaxConcurrent = int32(size)
	})
	c.awaitTargets(addon, size)
	return addon, clusters
}

func (c *customer) label(cluster *tenancyv1alpha1.TenantCluster, value string) {
	c.Helper()
	base := cluster.DeepCopy()
	cluster.Labels = map[string]string{tier: value}
	c.must(c.Patch(c.ctx, cluster, client.MergeFrom(base)))
}

// lost are the targets that are being deleted.
func (c *customer) lost() []addonsv1alpha1.AddonRelease {
	c.Helper()
	return slices.DeleteFunc(c.targets(), func(target addonsv1alpha1.AddonRelease) bool { return target.DeletionTimestamp.IsZero() })
}

func (c *customer) awaitLost(count int) {
	c.Helper()
	c.eventually(fmt.Sprintf("%d targets are being deleted", count), func() error {
		if lost := len(c.lost()); lost != count {
			return fmt.Errorf("found %d", lost)
		}
		return nil
	})
}

func (c *customer) countEvents(reason string) (count int) {
	c.Helper()
	events := &eventsv1.EventList{}
	c.must(c.List(c.ctx, events, client.InNamespace(c.namespace)))
	for _, event := range events.Items {
		if event.Reason == reason {
			count++
		}
	}
	return count
}

func TestSelectorEditThatLosesTooManyClustersIsStoppedUntilConfirmed(t *testing.T) {
	c := newCustomer(t)
	addon, _ := c.addFleet(20)
	c.change(addon, func(a *addonsv1alpha1.SaaSAddon) { a.Spec.ClusterSelector.MatchLabels[tier] = "glod" })
	c.awaitCondition(addon, metav1alpha1.ConditionStalled, metav1.ConditionTrue, metav1alpha1.ReasonWithdrawalGuard,
		"20 of 20 clusters", "the 4 allowed within an hour", `daytwo.dev/confirm-withdrawal: "20"`, "prod-00, prod-01")
	c.awaitCondition(addon, metav1alpha1.ConditionReady, metav1.ConditionFalse, metav1alpha1.ReasonWithdrawalGuard)
	c.awaitLost(0)

	confirm := func(value string) {
		c.change(addon, func(a *addonsv1alpha1.SaaSAddon) {
			a.Annotations = map[string]string{metav1alpha1.AnnotationConfirmWithdrawal: value}
		})
	}
	confirm("19")
	c.awaitCondition(addon, metav1alpha1.ConditionStalled, metav1.ConditionTrue, metav1alpha1.ReasonWithdrawalGuard, `(it says "19")`)
	c.awaitLost(0)
	confirm("20")
	c.awaitLost(20)
	c.awaitCondition(addon, metav1alpha1.ConditionReady, metav1.ConditionTrue, metav1alpha1.ReasonNoClusters, "still to be removed from 20 clusters")
	if record := addon.Status.Withdrawals; record.Underway != nil || len(record.Recent) > 0 || record.SpentConfirmation != "20" {
		t.Errorf("remembers %+v", record)
	}
	c.eventually("the events", func() error {
		if held, confirmed := c.countEvents(metav1alpha1.ReasonWithdrawalGuard), c.countEvents(eventConfirmed); held != 1 || confirmed != 1 {
			return fmt.Errorf("%d that it was stopped, %d that it was confirmed", held, confirmed)
		}
		return nil
	})
}

func TestSingleLabelEditsAreStoppedTogether(t *testing.T) {
	c := newCustomer(t)
	addon, clusters := c.addFleet(20)
	for i := range 4 {
		c.label(clusters[i], "silver")
		c.awaitLost(i + 1)
	}
	c.label(clusters[4], "silver")
	c.awaitCondition(addon, metav1alpha1.ConditionStalled, metav1.ConditionTrue, metav1alpha1.ReasonWithdrawalGuard, "1 of 16 clusters", "beside 4 in the last hour", "(prod-04)")
	c.label(clusters[5], "silver")
	c.awaitCondition(addon, metav1alpha1.ConditionStalled, metav1.ConditionTrue, metav1alpha1.ReasonWithdrawalGuard, "2 of 16 clusters")
	c.awaitLost(4)

	c.label(clusters[4], "gold")
	c.label(clusters[5], "gold")
	c.awaitCondition(addon, metav1alpha1.ConditionReady, metav1.ConditionFalse, metav1alpha1.ReasonRollingOut)
	if stalled := meta.FindStatusCondition(addon.Status.Conditions, metav1alpha1.ConditionStalled); stalled != nil {
		t.Errorf("still stalled: %+v", stalled)
	}
	c.awaitLost(4)
}

func TestDeletionOfManyTenantClustersIsStopped(t *testing.T) {
	c := newCustomer(t)
	addon, _ := c.addFleet(20)
	c.must(c.DeleteAllOf(c.ctx, &tenancyv1alpha1.TenantCluster{}, client.InNamespace(c.namespace)))
	c.awaitCondition(addon, metav1alpha1.ConditionStalled, metav1.ConditionTrue, metav1alpha1.ReasonWithdrawalGuard)
	c.eventually("nothing is selected", func() error {
		c.reload(addon)
		if selected := addon.Status.Clusters.Selected.Count; selected > 0 {
			return fmt.Errorf("%d are", selected)
		}
		return nil
	})
	if lost := len(c.lost()); lost > 4 {
		t.Errorf("%d targets are being deleted", lost)
	}
}
