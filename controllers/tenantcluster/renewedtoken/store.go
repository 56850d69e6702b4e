package renewedtoken

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/daytwo-dev/daytwo/controllers/internal/kubeconfig"
)

// +kubebuilder:rbac:groups="",resources=secrets,verbs=create;update;delete

// Store keeps the tokens of TenantClusters in Secrets beside them.
type Store struct {
	client.Client
	// Live reads past the cache.
	Live client.Reader
}

// Keep writes a token into the Secret of its TenantCluster, and returns the version.
func (s Store) Keep(ctx context.Context, cluster *tenancyv1alpha1.TenantCluster, token Token, own kubeconfig.Access) (string, error) {
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: cluster.Namespace, Name: SecretOf(cluster.Name)}
	err := s.Live.Get(ctx, key, secret)
	if client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("read Secret %s: %w", key.Name, err)
	}
	exists := err == nil
	if exists && secret.Type != tenancyv1alpha1.SecretTypeRenewedToken {
		return "", &Failure{tenancyv1alpha1.ReasonRenewedSecretExists, fmt.Sprintf(
			"There is a Secret %s that Daytwo did not make, in which the token would be kept: delete it, or give it another name.", key.Name)}
	}
	secret.Namespace, secret.Name, secret.Type = key.Namespace, key.Name, tenancyv1alpha1.SecretTypeRenewedToken
	secret.Labels = map[string]string{metav1alpha1.LabelCluster: cluster.Name}
	secret.Data = token.Data(own)
	secret.OwnerReferences = nil
	if err := controllerutil.SetControllerReference(cluster, secret, s.Scheme()); err != nil {
		return "", err
	}
	if secret.DeletionTimestamp == nil {
		controllerutil.AddFinalizer(secret, metav1alpha1.FinalizerAccess)
	}
	if exists {
		err = s.Update(ctx, secret)
	} else {
		err = s.Create(ctx, secret)
	}
	if err != nil {
		return "", fmt.Errorf("write Secret %s: %w", key.Name, err)
	}
	return secret.ResourceVersion, nil
}

// Drop deletes the Secret with a token, and lets go of it first.
func (s Store) Drop(ctx context.Context, kept *metav1.PartialObjectMetadata) error {
	if kept == nil {
		return nil
	}
	secret := &corev1.Secret{}
	err := s.Live.Get(ctx, client.ObjectKeyFromObject(kept), secret)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read Secret %s: %w", kept.Name, err)
	}
	if err != nil || secret.Type != tenancyv1alpha1.SecretTypeRenewedToken {
		return nil
	}
	before := secret.DeepCopy()
	if controllerutil.RemoveFinalizer(secret, metav1alpha1.FinalizerAccess) {
		if err := s.Patch(ctx, secret, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("remove finalizer from Secret %s: %w", secret.Name, err)
		}
	}
	if err := s.Delete(ctx, secret, client.Preconditions{UID: &secret.UID}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete Secret %s: %w", secret.Name, err)
	}
	return nil
}
