package tenantcluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/conditions"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/customerkubeconfig"
)

// handout is how the Secret stands in which the customer gets the kubeconfig of a cluster on order. The zero value is for a cluster
// that was not ordered.
type handout struct {
	// found is the metadata of the Secret of that name; nil if there is none.
	found *metav1.PartialObjectMetadata
	// desired is nil as long as there is no kubeconfig.
	desired *corev1.Secret
}

func (r *reconciler) observeHandout(ctx context.Context, o *observation) error {
	if o.cluster.Spec.Topology == nil {
		return nil
	}
	found := secretMetadata()
	err := r.client.Get(ctx, client.ObjectKey{Namespace: o.key.Namespace, Name: customerkubeconfig.SecretName(o.key.Name)}, found)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read metadata of Secret %s: %w", customerkubeconfig.SecretName(o.key.Name), err)
	}
	if err == nil {
		o.handout.found = found
	}
	if o.credentials.problem == nil {
		o.handout.desired, err = customerkubeconfig.Desired(o.cluster, o.credentials.own)
		return err
	}
	return nil
}

// planHandout keeps the Secret as long as the cluster is.
func planHandout(o observation) customerkubeconfig.Plan {
	if o.handout.desired == nil || o.deleting() {
		return customerkubeconfig.Plan{}
	}
	return customerkubeconfig.Providing(o.cluster, o.handout.found, o.handout.desired)
}

// reportHandout says where the kubeconfig is. What was said stands while there is no kubeconfig to give.
func reportHandout(w *writer, o observation, p customerkubeconfig.Plan, failed error) {
	name := customerkubeconfig.SecretName(o.key.Name)
	switch {
	case o.cluster.Spec.Topology == nil:
		w.Remove(tenancyv1alpha1.ConditionKubeconfigProvided)
	case o.handout.desired == nil || o.deleting() || apierrors.IsConflict(failed):
	case p.Standing == customerkubeconfig.Foreign:
		w.Set(tenancyv1alpha1.ConditionKubeconfigProvided, metav1.ConditionFalse, tenancyv1alpha1.ReasonKubeconfigSecretExists, fmt.Sprintf(
			"There is a Secret %s that Daytwo did not make, in which the kubeconfig would be: delete it, or give it another name.", name))
	case failed != nil:
		w.Set(tenancyv1alpha1.ConditionKubeconfigProvided, metav1.ConditionFalse, tenancyv1alpha1.ReasonKubeconfigNotWritten, failed.Error()+"; it is tried again")
	default:
		w.Set(tenancyv1alpha1.ConditionKubeconfigProvided, metav1.ConditionTrue, tenancyv1alpha1.ReasonKubeconfigProvided, fmt.Sprintf(
			"Secret %s has the kubeconfig under the key %s.", name, customerkubeconfig.Key))
	}
}

// handoutEvents tell of a kubeconfig that the customer does not get.
func handoutEvents(before, after tenancyv1alpha1.TenantClusterStatus) []eventRecord {
	is := conditions.News(before.Conditions, after.Conditions, tenancyv1alpha1.ConditionKubeconfigProvided)
	if is == nil || is.Status != metav1.ConditionFalse {
		return nil
	}
	return []eventRecord{{corev1.EventTypeWarning, is.Reason, "Write", is.Message}}
}
