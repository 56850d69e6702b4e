package controllers

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
	"github.com/daytwo-dev/daytwo/tools/local/provider/api/v1alpha1"
)

// object is what all kinds of the provider have in common.
type object interface {
	client.Object
	GetConditions() *[]metav1.Condition
}

// orderedName is the name of object's cluster among the ordered ones; "" as long
// as Cluster API has not said whose it is.
func orderedName(o object) string {
	cluster := o.GetLabels()[clusterv1.ClusterNameLabel]
	if cluster == "" {
		return ""
	}
	return localfleet.OrderedName(o.GetNamespace(), cluster)
}

// clusterOf returns the Cluster that an object belongs to, or nil if there is none.
func clusterOf(ctx context.Context, c client.Client, o object) (*clusterv1.Cluster, error) {
	name := o.GetLabels()[clusterv1.ClusterNameLabel]
	if name == "" {
		return nil, nil
	}
	cluster := &clusterv1.Cluster{}
	err := c.Get(ctx, client.ObjectKey{Namespace: o.GetNamespace(), Name: name}, cluster)
	if err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return cluster, nil
}

// clusterToWorkFor returns the Cluster that an object belongs to. It is nil if there is
// none, or if somebody paused it or the object.
func clusterToWorkFor(ctx context.Context, c client.Client, o object) (*clusterv1.Cluster, error) {
	cluster, err := clusterOf(ctx, c, o)
	if cluster == nil || err != nil {
		return nil, err
	}
	if _, paused := o.GetAnnotations()[clusterv1.PausedAnnotation]; paused || ptrTrue(cluster.Spec.Paused) {
		return nil, nil
	}
	return cluster, nil
}

func ptrTrue(b *bool) bool { return b != nil && *b }

// isPartOfCluster tells whether a Cluster has taken an object for its own. Cluster API first creates what the
// Cluster is to refer to, and writes the reference then. If it dies in between, it creates the same anew, and the
// first objects never get an owner: they carry the Cluster's label, but what runs is not theirs.
func isPartOfCluster(o object) bool {
	owner := metav1.GetControllerOf(o)
	return owner != nil && owner.Kind == clusterv1.ClusterKind && owner.Name == o.GetLabels()[clusterv1.ClusterNameLabel]
}

// injectedFailure returns the message of a failure that somebody asked for, or "".
func injectedFailure(o object) string { return o.GetAnnotations()[v1alpha1.FailAnnotation] }

// setCondition says true or false about an object.
func setCondition(o object, conditionType string, status bool, reason, message string) {
	value := metav1.ConditionFalse
	if status {
		value = metav1.ConditionTrue
	}
	meta.SetStatusCondition(o.GetConditions(), metav1.Condition{
		Type: conditionType, Status: value, Reason: reason, Message: message, ObservedGeneration: o.GetGeneration(),
	})
}

// addFinalizer comes before there is something to clean up.
func addFinalizer(ctx context.Context, c client.Client, o object) error {
	return change(ctx, c, o, func() { controllerutil.AddFinalizer(o, v1alpha1.Finalizer) })
}

func removeFinalizer(ctx context.Context, c client.Client, o object) error {
	return change(ctx, c, o, func() { controllerutil.RemoveFinalizer(o, v1alpha1.Finalizer) })
}

// change writes what it makes of an object, apart from its status.
func change(ctx context.Context, c client.Client, o object, make func()) error {
	before := copyOf(o)
	make()
	patch := client.MergeFrom(before)
	if same, err := isEmpty(patch, o); same || err != nil {
		return err
	}
	if err := client.IgnoreNotFound(c.Patch(ctx, o, patch)); err != nil {
		return fmt.Errorf("patch %s: %w", o.GetName(), err)
	}
	return nil
}

// saveStatus writes the status if it differs from before's.
func saveStatus(ctx context.Context, c client.Client, before, o object) error {
	patch := client.MergeFrom(before)
	if same, err := isEmpty(patch, o); same || err != nil {
		return err
	}
	if err := c.Status().Patch(ctx, o, patch); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("patch the status of %s: %w", o.GetName(), err)
	}
	return nil
}

func isEmpty(patch client.Patch, o object) (bool, error) {
	data, err := patch.Data(o)
	return string(data) == "{}", err
}

func copyOf(o object) object { return o.DeepCopyObject().(object) }
