package authority

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
)

// ReadMembers returns the encoded names of the clusters that take part in a rotation; nil if they are not there.
func (s *Store) ReadMembers(ctx context.Context, bundle *certificatesv1alpha1.CertificateBundle, hash string) ([]byte, error) {
	secret := &corev1.Secret{}
	key := types.NamespacedName{Namespace: bundle.Namespace, Name: membersName(bundle.Name, hash)}
	err := s.APIReader.Get(ctx, key, secret)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read Secret %s: %w", key, err)
	}
	return secret.Data[membersKey], nil
}

// WriteMembers stores the encoded names under their hash.
func (s *Store) WriteMembers(ctx context.Context, bundle *certificatesv1alpha1.CertificateBundle, hash string, encoded []byte) error {
	secret := membersSecret(bundle, hash, encoded)
	if err := s.Client.Create(ctx, secret); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("store the clusters that take part in a rotation as %s/%s: %w", secret.Namespace, secret.Name, err)
	}
	return nil
}

// PruneMembers removes the names that no record refers to.
func (s *Store) PruneMembers(ctx context.Context, bundle *certificatesv1alpha1.CertificateBundle, hash string) error {
	secrets, err := s.list(ctx, bundle)
	errs := []error{err}
	for i := range secrets {
		name := secrets[i].Name
		if generationOf(bundle.Name, name) == 0 && isOf(&secrets[i], bundle) && name != membersName(bundle.Name, hash) {
			errs = append(errs, s.remove(ctx, bundle, name))
		}
	}
	return errors.Join(errs...)
}
