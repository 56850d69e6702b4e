package clusternamespace

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/topology"
)

// State of the namespace for a customer's Clusters.
type State int

// States.
const (
	// Absent: it is not there yet.
	Absent State = iota
	// Ready: Clusters may be made in it.
	Ready
	// Terminating: it is being removed.
	Terminating
	// Foreign: one of its name is there which is not marked as this customer's.
	Foreign
)

// Look finds out how the namespace for the Clusters of a customer's namespace stands. The reader may be a cache.
func Look(ctx context.Context, reader client.Reader, customer string, options topology.Options) (State, error) {
	owner, err := read(ctx, reader, customer)
	if err != nil {
		return Absent, err
	}
	found, err := read(ctx, reader, options.ClusterNamespace(customer))
	if err != nil {
		return Absent, err
	}
	return stateOf(owner, found, options.Installation), nil
}

// stateOf is pure. While a cache does not show the customer's namespace, the one for its Clusters counts as absent.
func stateOf(owner, found *metav1.PartialObjectMetadata, installation string) State {
	switch {
	case owner == nil || found == nil:
		return Absent
	case !isOf(found, installation) || !belongsTo(found, owner):
		return Foreign
	case !found.DeletionTimestamp.IsZero():
		return Terminating
	}
	return Ready
}

// belongsTo is whether a namespace is marked as the one for the Clusters of a customer's; nil is a customer's that is not there.
func belongsTo(found, owner *metav1.PartialObjectMetadata) bool {
	return owner != nil && found.Labels[metav1alpha1.LabelClustersOf] == string(owner.UID)
}

// isOf is whether this installation made a namespace.
func isOf(namespace *metav1.PartialObjectMetadata, installation string) bool {
	return namespace.Labels[metav1alpha1.LabelManagedBy] == installation && namespace.Labels[metav1alpha1.LabelClustersOf] != ""
}

// read returns the metadata of a namespace; nil if it is not there.
func read(ctx context.Context, reader client.Reader, name string) (*metav1.PartialObjectMetadata, error) {
	namespace := metadata()
	err := reader.Get(ctx, client.ObjectKey{Name: name}, namespace)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // There is none.
	}
	if err != nil {
		return nil, fmt.Errorf("read namespace %s: %w", name, err)
	}
	return namespace, nil
}

func metadata() *metav1.PartialObjectMetadata {
	return objects.MetadataOf(corev1.SchemeGroupVersion.WithKind("Namespace"))
}
