package customerkubeconfig

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
)

// Plan is what is to be done about the Secret. The zero value is nothing.
type Plan struct {
	Write *corev1.Secret
	// Remove comes before Write: the Secret is immutable.
	Remove *metav1.PartialObjectMetadata
	// Standing counts where a Secret is desired.
	Standing Standing
}

// Providing has the desired Secret stand; found is nil if there is no Secret.
func Providing(tenant *tenancyv1alpha1.TenantCluster, found *metav1.PartialObjectMetadata, desired *corev1.Secret) Plan {
	p := Plan{Standing: Compare(tenant, found, desired)}
	switch p.Standing {
	case Missing:
		p.Write = desired
	case Outdated:
		p.Write, p.Remove = desired, found
	case Current, Foreign:
	}
	return p
}

// Withdrawing takes the kubeconfig of a cluster away that is going; found is nil if there is no Secret.
func Withdrawing(tenant *tenancyv1alpha1.TenantCluster, found *metav1.PartialObjectMetadata) Plan {
	if found == nil || !IsOurs(tenant, found) {
		return Plan{}
	}
	return Plan{Remove: found}
}
