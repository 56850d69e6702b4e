package customerkubeconfig

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

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

// Apply returns a conflict where the cache did not show the Secret that is there.
func (p Plan) Apply(ctx context.Context, writer client.Writer) error {
	if p.Remove != nil {
		secret := p.Remove.DeepCopy()
		secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
		if err := writer.Delete(ctx, secret, client.Preconditions{UID: &secret.UID}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete Secret %s: %w", secret.Name, err)
		}
	}
	if p.Write == nil {
		return nil
	}
	err := writer.Create(ctx, p.Write.DeepCopy())
	if apierrors.IsAlreadyExists(err) {
		return apierrors.NewConflict(corev1.Resource("secrets"), p.Write.Name, errors.New("the cache does not show it yet"))
	}
	if err != nil {
		return fmt.Errorf("create Secret %s: %w", p.Write.Name, err)
	}
	return nil
}
