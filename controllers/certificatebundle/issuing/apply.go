package issuing

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// apply carries a plan out.
func (r *Reconciler) apply(ctx context.Context, o observation, p plan) error {
	if p.needsIssuer {
		if err := r.Authorities.EnsureIssuer(ctx, o.bundle, o.authority.Generation); err != nil {
			return err
		}
	}
	if p.create != nil {
		if err := r.Client.Create(ctx, p.create); err != nil && !apierrors.IsAlreadyExists(err) { // The cache is behind.
			return fmt.Errorf("create Certificate %s: %w", o.key.object(o.key.name()), err)
		}
	}
	if p.update != nil {
		if err := r.update(ctx, o.certificate, p.update); err != nil {
			return err
		}
	}
	if p.keep != nil {
		if err := r.keep(ctx, p.keep); err != nil {
			return err
		}
	}
	// The Certificate first: cert-manager would make its Secret again.
	if p.removeCertificate {
		err := r.Client.Delete(ctx, o.certificate, client.Preconditions{UID: ptr.To(o.certificate.GetUID())})
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete Certificate %s: %w", o.key.object(o.key.name()), err)
		}
	}
	var errs []error
	for _, name := range p.removeSecrets {
		secret := objects.MetadataOf(corev1.SchemeGroupVersion.WithKind("Secret"))
		secret.Namespace, secret.Name = o.key.Bundle.Namespace, name
		if err := client.IgnoreNotFound(r.Client.Delete(ctx, secret)); err != nil {
			errs = append(errs, fmt.Errorf("delete Secret %s/%s: %w", secret.Namespace, name, err))
		}
	}
	return errors.Join(errs...)
}

// update writes what is asked for, unless somebody else wrote the Certificate meanwhile.
func (r *Reconciler) update(ctx context.Context, live, changed *unstructured.Unstructured) error {
	err := r.Client.Patch(ctx, changed, client.MergeFromWithOptions(live, client.MergeFromWithOptimisticLock{}))
	if err != nil {
		return fmt.Errorf("update Certificate %s/%s: %w", live.GetNamespace(), live.GetName(), err)
	}
	return nil
}

// keep stores an issuance. One that is there already is the same: its name follows from the certificate and the request.
func (r *Reconciler) keep(ctx context.Context, secret *corev1.Secret) error {
	err := r.Client.Create(ctx, secret)
	if !apierrors.IsAlreadyExists(err) {
		if err != nil {
			return fmt.Errorf("store issuance %s/%s: %w", secret.Namespace, secret.Name, err)
		}
		return nil
	}
	found := &corev1.Secret{}
	if err := r.APIReader.Get(ctx, client.ObjectKeyFromObject(secret), found); err != nil {
		return fmt.Errorf("read issuance %s/%s: %w", secret.Namespace, secret.Name, err)
	}
	if found.Type != metav1alpha1.SecretTypeIssuance || found.Annotations[annotationRequest] != secret.Annotations[annotationRequest] {
		return fmt.Errorf("secret %s/%s is in the way of an issuance: delete it", secret.Namespace, secret.Name)
	}
	if found.Annotations[annotationSource] == secret.Annotations[annotationSource] {
		return nil
	}
	// cert-manager wrote the same certificate again.
	base := found.DeepCopy()
	found.Annotations[annotationSource] = secret.Annotations[annotationSource]
	if err := r.Client.Patch(ctx, found, client.MergeFrom(base)); err != nil {
		return fmt.Errorf("note the source of issuance %s/%s: %w", secret.Namespace, secret.Name, err)
	}
	return nil
}
