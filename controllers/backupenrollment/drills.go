package backupenrollment

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/drills"
)

// +kubebuilder:rbac:groups=backup.daytwo.dev,resources=drdrills,verbs=create;delete

// makeDrills makes what is due, and deletes drills of the past. One that is there already is from before the manager died.
func (r *Reconciler) makeDrills(ctx context.Context, p drills.Plans, namespace string) error {
	for _, drill := range p.Due {
		if err := r.Room.Client.Create(ctx, drill); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create DRDrill %s/%s by plan: %w", drill.Namespace, drill.Name, err)
		}
	}
	for _, name := range p.Expired {
		old := &backupv1alpha1.DRDrill{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		if err := r.Room.Client.Delete(ctx, old); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete DRDrill %s/%s, which is beyond the history limit: %w", namespace, name, err)
		}
	}
	return nil
}
