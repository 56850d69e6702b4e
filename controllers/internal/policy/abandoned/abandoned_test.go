package abandoned

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

var noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

func objects() []string { return nil }

func TestATargetCountsAsAbandonedWhenItIsLetGo(t *testing.T) {
	now := metav1.NewTime(noon)
	for _, row := range []struct {
		name    string
		deleted *metav1.Time
		reason  string
		asked   string
		want    bool
	}{
		{"APersonAsksForIt", &now, metav1alpha1.ReasonClusterUnreachable, "true", true},
		{"NobodyAsksForIt", &now, metav1alpha1.ReasonClusterUnreachable, "", false},
		{"TheClusterAnswers", &now, metav1alpha1.ReasonDeleting, "true", false},
		{"TheDeletionOfItsClusterIsDue", &now, metav1alpha1.ReasonAbandoned, "", true},
		{"ItStays", nil, metav1alpha1.ReasonClusterUnreachable, "true", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			target := &addonsv1alpha1.AddonRelease{ObjectMeta: metav1.ObjectMeta{
				DeletionTimestamp: row.deleted, Annotations: map[string]string{metav1alpha1.AnnotationAbandon: row.asked},
			}}
			target.Status.Conditions = []metav1.Condition{{Type: metav1alpha1.ConditionReady, Status: metav1.ConditionUnknown, Reason: row.reason}}
			if got := of(target, objects) != nil; got != row.want {
				t.Errorf("it is abandoned: %v", got)
			}
		})
	}
}

// It says that it is let go before it is: what removes its finalizer may fail, and then its cluster may answer.
func TestATargetCountsAsAbandonedOnlyWhenItIsGone(t *testing.T) {
	now := metav1.NewTime(noon)
	addon := types.NamespacedName{Namespace: "acme", Name: "cache"}
	saying := func(reason string) *addonsv1alpha1.AddonRelease {
		target := &addonsv1alpha1.AddonRelease{ObjectMeta: metav1.ObjectMeta{UID: "1", DeletionTimestamp: &now, Finalizers: []string{metav1alpha1.FinalizerTarget}}}
		target.Status.Conditions = []metav1.Condition{{Type: metav1alpha1.ConditionReady, Status: metav1.ConditionUnknown, Reason: reason}}
		return target
	}
	for _, row := range []struct {
		name string
		last string
		want int
	}{
		{"LeftInItsCluster", metav1alpha1.ReasonAbandoned, 1},
		{"CleanedUpAfterAll", metav1alpha1.ReasonDeleting, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			var memory Memory
			first, last := saying(metav1alpha1.ReasonAbandoned), saying(row.last)
			memory.Note(addon, first, objects)
			if found := memory.Gone(addon, func(string) types.UID { return first.UID }); len(found) > 0 {
				t.Errorf("it counts while it is there: %+v", found)
			}
			memory.Note(addon, last, objects)
			if found := memory.Gone(addon, func(string) types.UID { return "" }); len(found) != row.want {
				t.Errorf("when it is gone it counts as %+v", found)
			}
		})
	}
}

func TestAbandonedTargetIsRecordedOnce(t *testing.T) {
	found := []Target{{cluster: metav1alpha1.ClusterReference{Namespace: "acme", Name: "prod"}, deleted: metav1.NewTime(noon.Add(time.Minute))}}
	recorded, added := Record(nil, found, metav1.NewTime(noon))
	again, more := Record(recorded, found, metav1.NewTime(noon.Add(time.Hour)))
	if len(added) != 1 || len(more) != 0 || len(again) != 1 {
		t.Errorf("recorded %v, then %v", recorded, again)
	}
}
