package authority

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
)

// removeIssuer removes the Issuer of an authority. One that somebody else made stays.
func (s *Store) removeIssuer(ctx context.Context, bundle *certificatesv1alpha1.CertificateBundle, name string) error {
	issuer := issuerNamed(bundle.Namespace, name)
	if err := s.APIReader.Get(ctx, client.ObjectKeyFromObject(issuer), issuer); err != nil || !isOf(issuer, bundle) {
		return err
	}
	return s.Client.Delete(ctx, issuer, client.Preconditions{UID: ptr.To(issuer.GetUID())})
}

// EnsureIssuer has the Issuer of an authority there, as it was made: who may write in the namespace may have changed it. Without
// cert-manager there is nothing to do. It returns a *TakenError where somebody else has the name.
func (s *Store) EnsureIssuer(ctx context.Context, bundle *certificatesv1alpha1.CertificateBundle, generation int64) error {
	wanted := newIssuer(bundle, generation)
	live := issuerNamed(wanted.GetNamespace(), wanted.GetName())
	err := s.APIReader.Get(ctx, client.ObjectKeyFromObject(live), live)
	switch {
	case meta.IsNoMatchError(err):
		return nil
	case apierrors.IsNotFound(err):
		if err := s.Client.Create(ctx, wanted); err != nil && !apierrors.IsAlreadyExists(err) { // Another certificate's turn made it.
			return fmt.Errorf("create Issuer %s/%s: %w", live.GetNamespace(), live.GetName(), err)
		}
		return nil
	case err != nil:
		return fmt.Errorf("read Issuer %s/%s: %w", live.GetNamespace(), live.GetName(), err)
	case !isOf(live, bundle):
		return &TakenError{Object: fmt.Sprintf("Issuer %s/%s", live.GetNamespace(), live.GetName())}
	}
	changed := live.DeepCopy()
	changed.Object["spec"] = wanted.Object["spec"]
	if equality.Semantic.DeepEqual(live.Object["spec"], changed.Object["spec"]) {
		return nil
	}
	if err := s.Client.Patch(ctx, changed, client.MergeFromWithOptions(live, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("restore Issuer %s/%s: %w", live.GetNamespace(), live.GetName(), err)
	}
	return nil
}

// TakenError is that somebody else has the name of what an authority needs.
type TakenError struct{ Object string }

// Error implements error.
func (e *TakenError) Error() string {
	return e.Object + " is in the way of an authority: somebody else made it; delete it"
}
