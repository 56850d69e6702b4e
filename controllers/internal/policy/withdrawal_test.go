package policy

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/news"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

// deselected is an add-on that is ready in some clusters, none of which it selects any more.
func deselected(t *testing.T, clusters int) fixture {
	t.Helper()
	o := settled(t)
	template := o.targets[0]
	o.clusters, o.targets = nil, nil
	for i := range clusters {
		target := template.DeepCopy()
		target.Spec.ClusterRef.Name = fmt.Sprintf("prod-%d", i)
		target.Name = rollout.TargetName("cache", rollout.ClusterKey(target.Spec.ClusterRef))
		o.targets = append(o.targets, target)
	}
	return o
}

func lostAt(at time.Time, count, clusters int32) metav1alpha1.WithdrawalMinute {
	return metav1alpha1.WithdrawalMinute{Minute: metav1.NewTime(at.Truncate(time.Minute)), Count: count, Clusters: clusters}
}

func TestWithdrawalGuardIsReported(t *testing.T) {
	tests := map[string]struct {
		clusters int
		change   func(*fixture)
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
			change: func(o *fixture) {
				o.stall = &Stall{Reason: metav1alpha1.ReasonReferenceNotFound, Message: "ConfigMap x is missing"}
			},
		},
		"with a failure it stays": {
			clusters: 5, failed: errors.New("quota exceeded"), reason: metav1alpha1.ReasonWithdrawalGuard, message: "quota exceeded",
		},
		"what is held back by what was lost before goes when that is an hour ago": {
			clusters: 2, reason: metav1alpha1.ReasonWithdrawalGuard, message: "beside 2 in the last hour", again: 11 * time.Minute,
			change: func(o *fixture) {
				o.policy.Status.Withdrawals.Recent = []metav1alpha1.WithdrawalMinute{lostAt(noon.Add(-50*time.Minute), 2, 4)}
			},
		},
		"a larger share may be allowed": {
			clusters: 5, reason: metav1alpha1.ReasonNoClusters,
			change: func(o *fixture) { o.policy.Spec.WithdrawalGuard.MaxPercent = ptr.To[int32](100) },
		},
		"a deleted add-on is not guarded": {
			clusters: 5, reason: metav1alpha1.ReasonDeleting,
			change: func(o *fixture) { o.policy.DeletionTimestamp = &metav1.Time{Time: noon} },
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			seen := deselected(t, test.clusters)
			if test.change != nil {
				test.change(&seen)
			}
			reported := seen.report(test.failed)
			ready := meta.FindStatusCondition(reported.status.Status.Conditions, metav1alpha1.ConditionReady)
			if ready.Reason != test.reason || !strings.Contains(ready.Message, test.message) {
				t.Errorf("Ready is %s %q", ready.Reason, ready.Message)
			}
			stalled := meta.IsStatusConditionTrue(reported.status.Status.Conditions, metav1alpha1.ConditionStalled)
			if want := test.reason == metav1alpha1.ReasonWithdrawalGuard; stalled != want {
				t.Errorf("Stalled is %t", stalled)
			}
			if reported.again != test.again {
				t.Errorf("again in %s, want %s", reported.again, test.again)
			}
		})
	}
}

func TestWithdrawalGuardIsAnnouncedOnce(t *testing.T) {
	o := deselected(t, 5)
	first := o.report(nil)
	if len(first.events) == 0 || first.events[len(first.events)-1].Reason != metav1alpha1.ReasonWithdrawalGuard {
		t.Errorf("events %+v", first.events)
	}
	o.policy.Status = first.status.Status
	another := o.targets[0].DeepCopy()
	another.Name = "another"
	o.targets = append(o.targets, another)
	second := o.report(nil)
	if len(second.events) > 0 {
		t.Errorf("events %+v", second.events)
	}
}

// A confirmation whose record could not be stored is not lost: the status at the end has it.
func TestConfirmedWithdrawalThatCouldNotBeRecordedIsCarriedOutNextTime(t *testing.T) {
	o := deselected(t, 5)
	o.policy.Annotations = map[string]string{metav1alpha1.AnnotationConfirmWithdrawal: "5"}
	todo := newPlan(o.o())
	first := newReport(testKind{}, o.o(), todo, result{rollout: rollout.Plan{Withdrawal: todo.rollout.Withdrawal}, err: errors.New("timeout")})
	if len(first.events) != 1 || first.events[0].Reason != news.ReasonConfirmed {
		t.Errorf("events %+v", first.events)
	}
	o.policy.Status = first.status.Status
	todo = newPlan(o.o())
	if len(todo.rollout.Delete) != 5 || todo.rollout.Withdrawal.Confirmed {
		t.Errorf("plan %+v", todo.rollout)
	}
	second := newReport(testKind{}, o.o(), todo, result{rollout: todo.rollout})
	if record := second.status.Status.Withdrawals; record.Underway != nil || len(record.Recent) > 0 || record.SpentConfirmation != "5" {
		t.Errorf("remembers %+v", record)
	}
}

// What does not count any more causes no write, and goes with the next one.
func TestOldWithdrawalsGoWithTheNextChangeOfTheStatus(t *testing.T) {
	o := settled(t)
	o.policy.Status = o.report(nil).status.Status
	o.policy.Status.Withdrawals.Recent = []metav1alpha1.WithdrawalMinute{lostAt(noon.Add(-2*time.Hour), 1, 2)}
	if unchanged := o.report(nil).status.Status; !reflect.DeepEqual(unchanged, o.policy.Status) {
		t.Errorf("changed to %+v", unchanged)
	}
	o.policy.Generation++
	if left := o.report(nil).status.Status.Withdrawals.Recent; len(left) > 0 {
		t.Errorf("left %v", left)
	}
}
