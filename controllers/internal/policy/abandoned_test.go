package policy

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// A manager that started in between knows of it from the first event, which tells of each target that is there.
func TestATargetThatWasOnlyListedCountsWhenItIsGone(t *testing.T) {
	now := metav1.NewTime(noon)
	target := &addonsv1alpha1.AddonRelease{ObjectMeta: metav1.ObjectMeta{UID: "1", DeletionTimestamp: &now}}
	target.Status.Conditions = []metav1.Condition{{Type: metav1alpha1.ConditionReady, Status: metav1.ConditionUnknown, Reason: metav1alpha1.ReasonAbandoned}}
	room := &Reconciler[*addonsv1alpha1.SaaSAddon, *addonsv1alpha1.AddonRelease]{Kind: testKind{}}
	room.targetEvents().Create(t.Context(), event.CreateEvent{Object: target}, discard{})
	if found := room.abandoned.Gone(types.NamespacedName{}, func(string) types.UID { return "" }); len(found) != 1 {
		t.Errorf("it counts as %+v", found)
	}
}
