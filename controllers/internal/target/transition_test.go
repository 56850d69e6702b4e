package target

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

func TestOneEventTellsThatATargetFailedOrBecameReady(t *testing.T) {
	told := func(revision string, is metav1.ConditionStatus, reason string, stalled bool) *metav1alpha1.TargetStatus {
		status := &metav1alpha1.TargetStatus{Revision: revision}
		status.Conditions = []metav1.Condition{{Type: metav1alpha1.ConditionReady, Status: is, Reason: reason}}
		if stalled {
			status.Conditions = append(status.Conditions, metav1.Condition{Type: metav1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: reason})
		}
		return status
	}
	nothing := &metav1alpha1.TargetStatus{}
	progressing, ready := told("", metav1.ConditionFalse, metav1alpha1.ReasonProgressing, false), told("one", metav1.ConditionTrue, metav1alpha1.ReasonSucceeded, false)
	refused, unhealthy := told("", metav1.ConditionFalse, metav1alpha1.ReasonRefused, true), told("one", metav1.ConditionFalse, metav1alpha1.ReasonUnhealthy, false)
	standing, unknown := told("one", metav1.ConditionFalse, metav1alpha1.ReasonStandstill, false), told("one", metav1.ConditionUnknown, metav1alpha1.ReasonClusterUnreachable, false)
	for name, test := range map[string]struct {
		before, after *metav1alpha1.TargetStatus
		want          string
	}{
		"it is on its way":       {nothing, progressing, ""},
		"installed":              {progressing, ready, "Normal Ready"},
		"ready again":            {unhealthy, ready, "Normal Ready"},
		"the cluster answers":    {unknown, ready, ""},
		"the cluster is lost":    {ready, unknown, ""},
		"refused":                {progressing, refused, "Warning Refused"},
		"refused still":          {refused, refused, ""},
		"an object failed":       {ready, unhealthy, "Warning Unhealthy"},
		"an object stands still": {progressing, standing, "Warning Standstill"},
		"another revision":       {told("zero", metav1.ConditionTrue, metav1alpha1.ReasonSucceeded, false), ready, "Normal Ready"},
	} {
		got := ""
		if kind, reason, is := transition(test.before, test.after); is != nil {
			got = kind + " " + reason
		}
		if got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}
