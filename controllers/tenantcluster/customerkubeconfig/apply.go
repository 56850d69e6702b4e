package customerkubeconfig

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

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
