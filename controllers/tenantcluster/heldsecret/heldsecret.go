// Package heldsecret keeps the Secrets that clusters are reached with for as long as a TenantCluster needs them: by a finalizer.
package heldsecret

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// index of the manager's cache finds Secrets that have our finalizer.
const index, yes = "tenantcluster.held", "yes"

// Secret is one with our finalizer.
type Secret struct {
	Metadata metav1.PartialObjectMetadata
	// UsedHere, UsedElsewhere: this TenantCluster, or another one, needs it.
	UsedHere, UsedElsewhere bool
}

// Unused is what counts while the TenantCluster stays.
func (s Secret) Unused() bool { return !s.UsedHere && !s.UsedElsewhere }

// UnusedElsewhere is what counts when the TenantCluster leaves.
func (s Secret) UnusedElsewhere() bool { return !s.UsedElsewhere }

// Which of the Secrets are so.
func Which(held []Secret, are func(Secret) bool) []metav1.PartialObjectMetadata {
	var found []metav1.PartialObjectMetadata
	for _, secret := range held {
		if are(secret) {
			found = append(found, secret.Metadata)
		}
	}
	return found
}

// ToHold leaves a Secret alone that is being deleted: the API server takes no new finalizer then. Nil stands for none.
func ToHold(secret *metav1.PartialObjectMetadata) *metav1.PartialObjectMetadata {
	if secret == nil || secret.DeletionTimestamp != nil || slices.Contains(secret.Finalizers, metav1alpha1.FinalizerAccess) {
		return nil
	}
	return secret
}

// AddIndex has List find Secrets.
func AddIndex(ctx context.Context, indexer client.FieldIndexer) error {
	err := indexer.IndexField(ctx, metadata(), index, func(object client.Object) []string {
		if slices.Contains(object.GetFinalizers(), metav1alpha1.FinalizerAccess) {
			return []string{yes}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("index Secrets: %w", err)
	}
	return nil
}

// List the Secrets of a namespace that have our finalizer. They belong to the cache.
func List(ctx context.Context, cache client.Reader, namespace string) ([]metav1.PartialObjectMetadata, error) {
	secrets := &metav1.PartialObjectMetadataList{}
	secrets.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	if err := cache.List(ctx, secrets, client.InNamespace(namespace), client.MatchingFields{index: yes}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list Secrets: %w", err)
	}
	return secrets.Items, nil
}

// Hold a Secret. Nil stands for none.
func Hold(ctx context.Context, writer client.Writer, secret *metav1.PartialObjectMetadata) error {
	if secret == nil {
		return nil
	}
	held := secret.DeepCopy()
	controllerutil.AddFinalizer(held, metav1alpha1.FinalizerAccess)
	if err := writer.Patch(ctx, held, unchanged(secret)); err != nil {
		return fmt.Errorf("add finalizer to Secret %s: %w", secret.Name, err)
	}
	return nil
}

// Release Secrets. One that cannot be released keeps no other from it.
func Release(ctx context.Context, writer client.Writer, secrets []metav1.PartialObjectMetadata) error {
	var problems []error
	for i := range secrets {
		secret := secrets[i].DeepCopy()
		secret.SetGroupVersionKind(metadata().GroupVersionKind())
		before := secret.DeepCopy()
		controllerutil.RemoveFinalizer(secret, metav1alpha1.FinalizerAccess)
		if err := writer.Patch(ctx, secret, unchanged(before)); client.IgnoreNotFound(err) != nil {
			problems = append(problems, fmt.Errorf("remove finalizer from Secret %s: %w", secret.Name, err))
		}
	}
	return errors.Join(problems...)
}

// unchanged is a merge patch that fails if the Secret has changed since: a list of finalizers is replaced as a whole.
func unchanged(secret *metav1.PartialObjectMetadata) client.Patch {
	return client.MergeFromWithOptions(secret, client.MergeFromWithOptimisticLock{})
}

func metadata() *metav1.PartialObjectMetadata {
	return objects.MetadataOf(corev1.SchemeGroupVersion.WithKind("Secret"))
}
