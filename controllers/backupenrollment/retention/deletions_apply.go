package retention

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/veleroobjects"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// Deleter is what the deletion of backups needs of a workload cluster. A *fleet.Cluster is one.
type Deleter interface {
	// Confirm makes sure that it is the cluster that it was.
	Confirm(ctx context.Context) error
	// Lookup reads a whole object.
	Lookup(ctx context.Context, ref objects.Ref) (map[string]any, error)
	// Create creates an object from JSON.
	Create(ctx context.Context, ref objects.Ref, body []byte) (*metav1.PartialObjectMetadata, error)
	// Delete deletes the object that has the UID.
	Delete(ctx context.Context, ref objects.Ref, uid types.UID) error
}

// RequestDeletions asks Velero to delete backups. To delete a Backup itself would be no good: Velero's sync makes it again
// from what is in the bucket.
func RequestDeletions(ctx context.Context, cluster Deleter, own *backupv1alpha1.VeleroObjects, due []Deletion) error {
	if len(due) == 0 {
		return nil
	}
	if err := cluster.Confirm(ctx); err != nil {
		return err
	}
	for _, one := range due {
		if err := requestDeletion(ctx, cluster, own, one); err != nil {
			return fmt.Errorf("ask Velero to delete backup %s/%s: %w", own.Namespace, one.Backup, err)
		}
	}
	return nil
}

// requestDeletion looks at the backup once more: what a watch shows may be old, and does not say where the backup is stored.
func requestDeletion(ctx context.Context, cluster Deleter, own *backupv1alpha1.VeleroObjects, one Deletion) error {
	content, err := cluster.Lookup(ctx, objects.Ref{GroupVersionKind: veleroobjects.BackupKind, Namespace: own.Namespace, Name: one.Backup})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	backup := &unstructured.Unstructured{Object: content}
	location, _, _ := unstructured.NestedString(content, "spec", "storageLocation")
	if backup.GetUID() != one.UID || location != own.Name || !isDeletable(backup, own.Name) {
		return nil
	}
	request := one.Request(own)
	ref := objects.RefOf(request)
	if one.Failed != "" {
		if err := cluster.Delete(ctx, ref, one.Failed); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return fmt.Errorf("remove the request that failed: %w", err)
		}
	}
	body, err := request.MarshalJSON()
	if err != nil {
		return err
	}
	if _, err := cluster.Create(ctx, ref, body); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return nil
}
