package action

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// Cluster is what an action uses of a workload cluster. A *fleet.Cluster is one.
type Cluster interface {
	// Confirm makes sure that it is the cluster that it was.
	Confirm(ctx context.Context) error
	Create(ctx context.Context, ref objects.Ref, body []byte) (*metav1.PartialObjectMetadata, error)
	// Find reads an object's metadata; nil if the cluster itself says that there is none.
	Find(ctx context.Context, ref objects.Ref) (*metav1.PartialObjectMetadata, error)
	// Delete deletes the object that has the UID.
	Delete(ctx context.Context, ref objects.Ref, uid types.UID) error
}

// Do does a step in the cluster. It returns the action as it is after that. What the cluster refuses for good ends the
// action. Any other error is returned, and the step is to be tried again.
func Do(ctx context.Context, cluster Cluster, owner Owner, a metav1alpha1.Action, step Step, object *unstructured.Unstructured, now time.Time) (metav1alpha1.Action, error) {
	ref, err := objects.ParseID(a.Object)
	if err != nil {
		return a, err
	}
	switch step {
	case Make:
		return create(ctx, cluster, owner, a, ref, object, now)
	case Look:
		found, err := cluster.Find(ctx, ref)
		if err == nil && (found == nil || string(found.UID) != a.UID) {
			return End(a, metav1alpha1.ActionFailed, fmt.Sprintf("somebody else removed %s", ref), now), nil
		}
		return a, err
	case Wait:
	}
	return a, nil
}

func create(ctx context.Context, cluster Cluster, owner Owner, a metav1alpha1.Action, ref objects.Ref, object *unstructured.Unstructured, now time.Time) (metav1alpha1.Action, error) {
	if err := cluster.Confirm(ctx); err != nil {
		return a, err
	}
	object = object.DeepCopy()
	owner.Label(object, ref)
	body, err := object.MarshalJSON()
	if err != nil {
		return a, fmt.Errorf("make %s: %w", ref, err)
	}
	created, err := cluster.Create(ctx, ref, body)
	switch {
	case err == nil:
		a.UID = string(created.UID)
		return a, nil
	case apierrors.IsAlreadyExists(err):
		return take(ctx, cluster, owner, a, ref, now)
	case apply.IsFinal(err):
		return End(a, metav1alpha1.ActionFailed, fmt.Sprintf("make %s: %s", ref, apply.Explain(ref, err)), now), nil
	}
	return a, fmt.Errorf("make %s: %w", ref, err)
}

// take goes on with the object that is there already, if the action made it.
func take(ctx context.Context, cluster Cluster, owner Owner, a metav1alpha1.Action, ref objects.Ref, now time.Time) (metav1alpha1.Action, error) {
	found, err := cluster.Find(ctx, ref)
	switch {
	case err != nil:
		return a, err
	case found == nil:
		return a, fmt.Errorf("make %s: it is there already, and cannot be read", ref)
	case !owner.made(found):
		return End(a, metav1alpha1.ActionFailed, fmt.Sprintf("%s is there already, and was not made by this action: delete or rename it", ref), now), nil
	}
	a.UID = string(found.UID)
	return a, nil
}

// Remove removes the object of an action. It returns whether the cluster says that nothing of it is left; otherwise the
// object is on its way, and a watch shows when it is gone. An object of that name that somebody else made stays.
func Remove(ctx context.Context, cluster Cluster, owner Owner, a metav1alpha1.Action) (gone bool, err error) {
	ref, err := objects.ParseID(a.Object)
	if err != nil {
		return false, err
	}
	found, err := cluster.Find(ctx, ref)
	switch {
	case err != nil:
		return false, err
	case found == nil || a.UID != "" && a.UID != string(found.UID) || a.UID == "" && !owner.made(found):
		return true, cluster.Confirm(ctx)
	case !found.DeletionTimestamp.IsZero():
		return false, nil
	}
	if err := cluster.Confirm(ctx); err != nil {
		return false, err
	}
	if err := cluster.Delete(ctx, ref, found.UID); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return false, fmt.Errorf("remove %s: %w", ref, err)
	}
	left, err := cluster.Find(ctx, ref)
	return err == nil && (left == nil || left.UID != found.UID), err
}
