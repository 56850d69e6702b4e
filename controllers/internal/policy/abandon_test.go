package policy

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

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
			if got := abandonmentOf(target, testKind{}.Objects) != nil; got != row.want {
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
			var memory abandonedMemory[*addonsv1alpha1.AddonRelease]
			first, last := saying(metav1alpha1.ReasonAbandoned), saying(row.last)
			memory.note(addon, first, testKind{}.Objects)
			if found := memory.gone(addon, func(string) types.UID { return first.UID }); len(found) > 0 {
				t.Errorf("it counts while it is there: %+v", found)
			}
			memory.note(addon, last, testKind{}.Objects)
			if found := memory.gone(addon, func(string) types.UID { return "" }); len(found) != row.want {
				t.Errorf("when it is gone it counts as %+v", found)
			}
		})
	}
}

// A manager that started in between knows of it from the first event, which tells of each target that is there.
func TestATargetThatWasOnlyListedCountsWhenItIsGone(t *testing.T) {
	now := metav1.NewTime(noon)
	target := &addonsv1alpha1.AddonRelease{ObjectMeta: metav1.ObjectMeta{UID: "1", DeletionTimestamp: &now}}
	target.Status.Conditions = []metav1.Condition{{Type: metav1alpha1.ConditionReady, Status: metav1.ConditionUnknown, Reason: metav1alpha1.ReasonAbandoned}}
	room := &Reconciler[*addonsv1alpha1.SaaSAddon, *addonsv1alpha1.AddonRelease]{Kind: testKind{}}
	room.targetEvents().Create(t.Context(), event.CreateEvent{Object: target}, discard{})
	if found := room.abandoned.gone(types.NamespacedName{}, func(string) types.UID { return "" }); len(found) != 1 {
		t.Errorf("it counts as %+v", found)
	}
}
