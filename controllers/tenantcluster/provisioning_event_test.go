package tenantcluster

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
)

// A cluster that is made as it should be warns nobody; one that was there and is not available any more does.
func TestProvisioningThatGoesWellIsANormalEvent(t *testing.T) {
	for _, row := range []struct {
		before, after tenancyv1alpha1.ClusterPhase
		reason, kind  string
	}{
		{"", tenancyv1alpha1.PhasePending, tenancyv1alpha1.ReasonProvisioning, corev1.EventTypeNormal},
		{tenancyv1alpha1.PhasePending, tenancyv1alpha1.PhaseProvisioning, tenancyv1alpha1.ReasonProvisioning, corev1.EventTypeNormal},
		{tenancyv1alpha1.PhaseProvisioning, tenancyv1alpha1.PhaseProvisioning, tenancyv1alpha1.ReasonNotAvailable, corev1.EventTypeNormal},
		{tenancyv1alpha1.PhaseRunning, tenancyv1alpha1.PhaseProvisioning, tenancyv1alpha1.ReasonNotAvailable, corev1.EventTypeWarning},
		{tenancyv1alpha1.PhaseProvisioning, tenancyv1alpha1.PhaseFailed, tenancyv1alpha1.ReasonOrderRefused, corev1.EventTypeWarning},
		{"", tenancyv1alpha1.PhasePending, tenancyv1alpha1.ReasonSecretNotFound, corev1.EventTypeWarning},
	} {
		before, after := tenancyv1alpha1.TenantClusterStatus{Phase: row.before}, tenancyv1alpha1.TenantClusterStatus{Phase: row.after}
		after.Conditions = []metav1.Condition{{Type: metav1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: row.reason}}
		told := eventsFor(before, after)
		if len(told) != 1 || told[0].kind != row.kind || told[0].reason != row.reason {
			t.Errorf("from %q to %q, %s: %+v", row.before, row.after, row.reason, told)
		}
	}
}
