package saasaddon

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	"github.com/daytwo-dev/daytwo/apis/common"
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
		{"APersonAsksForIt", &now, common.ReasonClusterUnreachable, "true", true},
		{"NobodyAsksForIt", &now, common.ReasonClusterUnreachable, "", false},
		{"TheClusterAnswers", &now, common.ReasonDeleting, "true", false},
		{"TheDeletionOfItsClusterIsDue", &now, addonsv1alpha1.ReasonAbandoned, "", true},
		{"ItStays", nil, common.ReasonClusterUnreachable, "true", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			target := &addonsv1alpha1.AddonRelease{ObjectMeta: metav1.ObjectMeta{
				DeletionTimestamp: row.deleted, Annotations: map[string]string{common.AnnotationAbandon: row.asked},
			}}
			target.Status.Conditions = []metav1.Condition{{Type: common.ConditionReady, Status: metav1.ConditionUnknown, Reason: row.reason}}
			if got := abandonmentOf(target) != nil; got != row.want {
				t.Errorf("it is abandoned: %v", got)
			}
		})
	}
}
