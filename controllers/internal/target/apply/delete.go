package apply

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// Delete deletes a hook's object. One that is gone, or that another took the place of, is no error, if it is the
// right cluster that says so.
func Delete(ctx context.Context, cluster deleter, ref objects.Ref, uid types.UID) error {
	err := cluster.Delete(ctx, ref, uid)
	if !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return err
	}
	if err := cluster.Confirm(ctx); err != nil {
		return err
	}
	object, lookErr := cluster.Find(ctx, ref)
	if lookErr != nil {
		return lookErr
	}
	if object == nil || object.UID != uid || object.DeletionTimestamp != nil {
		return nil
	}
	return err
}

// deleter is what the deletion of a hook needs of its cluster.
type deleter interface {
	Confirm(ctx context.Context) error
	Delete(ctx context.Context, ref objects.Ref, uid types.UID) error
	Find(ctx context.Context, ref objects.Ref) (*metav1.PartialObjectMetadata, error)
}
