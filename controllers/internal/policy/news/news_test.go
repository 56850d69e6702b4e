package news

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

func status(revision string, conditions ...metav1.Condition) *metav1alpha1.PolicyStatus {
	count := metav1alpha1.ClusterCount{Count: 2}
	return &metav1alpha1.PolicyStatus{Revision: revision, Conditions: conditions, Clusters: metav1alpha1.ClusterSummary{Selected: count, Ready: count}}
}

func ready(is metav1.ConditionStatus, reason string) metav1.Condition {
	return metav1.Condition{Type: metav1alpha1.ConditionReady, Status: is, Reason: reason, Message: "why"}
}

func TestATransitionIsToldOnceWithALineOfTheLog(t *testing.T) {
	rolling, failed := ready(metav1.ConditionFalse, metav1alpha1.ReasonRollingOut), ready(metav1.ConditionFalse, metav1alpha1.ReasonTargetsFailed)
	standing, good := ready(metav1.ConditionFalse, metav1alpha1.ReasonStandstill), ready(metav1.ConditionTrue, metav1alpha1.ReasonSucceeded)
	held := metav1.Condition{Type: metav1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: metav1alpha1.ReasonWithdrawalGuard}
	for name, test := range map[string]struct {
		before, after *metav1alpha1.PolicyStatus
		want          string
	}{
		"started":             {status(""), status("one", rolling), "Normal RolloutStarted: rollout started"},
		"finished":            {status("one", rolling), status("one", good), "Normal Ready: rollout finished"},
		"failed":              {status("one", rolling), status("one", failed), "Warning TargetsFailed: rollout failed"},
		"failed still":        {status("one", failed), status("one", failed), ""},
		"stands still":        {status("one", rolling), status("one", standing), "Warning Standstill: rollout stands still"},
		"failed from the top": {status("one", standing), status("one", failed), "Warning TargetsFailed: rollout failed"},
		"the guard holds":     {status("one", good), status("one", good, held), "Warning WithdrawalGuard: withdrawal guard held"},
		"on its way":          {status("one", good), status("one", rolling), ""},
	} {
		var got []string
		for _, one := range OfStatus(test.before, test.after) {
			got = append(got, one.Type+" "+one.Reason+": "+one.LogLine())
		}
		if strings.Join(got, ", ") != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}
