package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// obstacles are the conditions that say why a cluster cannot be worked with, and the status with which they do, the first to
// tell of first.
var obstacles = []struct {
	conditionType string
	bad           metav1.ConditionStatus
}{
	{ConditionIdentityConflict, metav1.ConditionTrue},
	{ConditionKubeconfigValid, metav1.ConditionFalse},
	{ConditionConnected, metav1.ConditionFalse},
}

// Obstacle returns the condition that says why the cluster cannot be worked with; nil if none says so.
func (c *TenantCluster) Obstacle() *metav1.Condition {
	for _, one := range obstacles {
		if found := meta.FindStatusCondition(c.Status.Conditions, one.conditionType); found != nil && found.Status == one.bad {
			return found
		}
	}
	return nil
}

// IsUnusable returns whether the cluster cannot be worked with for another reason than that it does not answer: there is no
// kubeconfig, its credentials are refused, or it leads to a cluster that it must not lead to.
func (c *TenantCluster) IsUnusable() bool {
	obstacle := c.Obstacle()
	return obstacle != nil && obstacle.Reason != ReasonUnreachable
}
