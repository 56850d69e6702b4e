package retention

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/veleroobjects"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// Patcher is what extensions need of a workload cluster. A *fleet.Cluster is one.
type Patcher interface {
	// Confirm makes sure that it is the cluster that it was.
	Confirm(ctx context.Context) error
	// Patch applies a JSON patch to the object that has the UID.
	Patch(ctx context.Context, ref objects.Ref, uid types.UID, patch []byte) (*metav1.PartialObjectMetadata, error)
}

// Extend puts off when Velero deletes backups by itself. Kinds of Velero's have no status of their own to be written.
func Extend(ctx context.Context, cluster Patcher, own *backupv1alpha1.VeleroObjects, due []Extension) error {
	if len(due) == 0 {
		return nil
	}
	if err := cluster.Confirm(ctx); err != nil {
		return err
	}
	for _, one := range due {
		patch, err := json.Marshal([]map[string]any{{"op": "add", "path": "/status/expiration", "value": one.Until.UTC().Format(time.RFC3339)}})
		if err != nil {
			return err
		}
		ref := objects.Ref{GroupVersionKind: veleroobjects.BackupKind, Namespace: own.Namespace, Name: one.Backup}
		if _, err := cluster.Patch(ctx, ref, one.UID, patch); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsInvalid(err) { // Gone, or another one of that name.
			return fmt.Errorf("keep backup %s/%s, which Velero would delete: %w", own.Namespace, one.Backup, err)
		}
	}
	return nil
}
