package v1alpha1

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAClusterThatDoesNotAnswerIsNotUnusable(t *testing.T) {
	for name, c := range map[string]struct {
		conditions []metav1.Condition
		obstacle   string
		unusable   bool
	}{
		"connected":          {[]metav1.Condition{{Type: ConditionConnected, Status: metav1.ConditionTrue}}, "", false},
		"nothing is known":   {nil, "", false},
		"no answer":          {[]metav1.Condition{{Type: ConditionConnected, Status: metav1.ConditionFalse, Reason: ReasonUnreachable}}, ConditionConnected, false},
		"credentials":        {[]metav1.Condition{{Type: ConditionConnected, Status: metav1.ConditionFalse, Reason: ReasonUnauthorized}}, ConditionConnected, true},
		"no kubeconfig":      {[]metav1.Condition{{Type: ConditionConnected, Status: metav1.ConditionFalse, Reason: ReasonNoAccess}, {Type: ConditionKubeconfigValid, Status: metav1.ConditionFalse, Reason: ReasonSecretNotFound}}, ConditionKubeconfigValid, true},
		"held by another":    {[]metav1.Condition{{Type: ConditionConnected, Status: metav1.ConditionTrue}, {Type: ConditionIdentityConflict, Status: metav1.ConditionTrue, Reason: ReasonAlreadyRegistered}}, ConditionIdentityConflict, true},
		"the right identity": {[]metav1.Condition{{Type: ConditionIdentityConflict, Status: metav1.ConditionFalse}}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := &TenantCluster{Status: TenantClusterStatus{Conditions: c.conditions}}
			got := ""
			if found := cluster.Obstacle(); found != nil {
				got = found.Type
			}
			if got != c.obstacle || cluster.IsUnusable() != c.unusable {
				t.Errorf("got %q, unusable %t", got, cluster.IsUnusable())
			}
		})
	}
}
