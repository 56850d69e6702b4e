// Package clusterapi reads and writes the Clusters of orders where Cluster API is installed.
package clusterapi

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/optionalkind"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/topology"
)

// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters,verbs=get;list;watch;create;patch;delete

const (
	// Definition is the name of the CRD of Clusters.
	Definition = "clusters.cluster.x-k8s.io"
	// SecretSuffix is what Cluster API's contract for kubeconfig Secrets appends to a Cluster's name.
	SecretSuffix = "-kubeconfig"
)

// Kind is the one of Clusters.
var Kind = clusterv1.GroupVersion.WithKind("Cluster")

// Clusters are those of all orders.
type Clusters struct {
	cached *optionalkind.Kind[reconcile.Request]
	client client.Client
	// live reads past the cache.
	live client.Reader
	// installation names whom Clusters are labelled and written by.
	installation string
}

// New watches Clusters from when their definition appears, for a controller.
func New(mgr manager.Manager, built controller.Controller, installation string, wake handler.MapFunc) *Clusters {
	return &Clusters{
		cached: &optionalkind.Kind[reconcile.Request]{
			Definition: Definition, GVK: Kind, New: func() client.Object { return &clusterv1.Cluster{} },
			Cache: mgr.GetCache(), Mapper: mgr.GetRESTMapper(), Controller: built, Wake: wake,
		},
		client: mgr.GetClient(), live: mgr.GetAPIReader(), installation: installation,
	}
}

// Look reads a Cluster from the cache, nil unless it is present. Its errors are those of optionalkind.
func (c *Clusters) Look(ctx context.Context, key types.NamespacedName) (*clusterv1.Cluster, optionalkind.Presence, error) {
	found, presence, err := c.cached.Look(ctx, key)
	if found == nil {
		return nil, presence, err
	}
	return found.(*clusterv1.Cluster), presence, err
}

// EditorOf a Cluster's topology since Daytwo wrote it, for people; empty for nobody. The cache has no managedFields.
func (c *Clusters) EditorOf(ctx context.Context, cluster *clusterv1.Cluster) (string, error) {
	now := objects.MetadataOf(Kind)
	if err := c.live.Get(ctx, client.ObjectKeyFromObject(cluster), now); err != nil {
		if apierrors.IsNotFound(err) {
			return "", nil
		}
		return "", fmt.Errorf("read who edited Cluster %s: %w", cluster.Name, err)
	}
	return topology.Editor(now, managedfields.ManagerOf(c.installation)), nil
}

// ConfirmGone is an error while the API server has a Cluster of ours of this name, though the cache may not.
func (c *Clusters) ConfirmGone(ctx context.Context, key types.NamespacedName) error {
	live := &clusterv1.Cluster{}
	err := c.live.Get(ctx, key, live)
	if apierrors.IsNotFound(err) || err == nil && !topology.IsOurs(live, c.installation) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for Cluster %s: %w", key.Name, err)
	}
	return behind(key.Name)
}

// behind is the conflict that a cache makes which does not show a Cluster yet.
func behind(name string) error {
	return apierrors.NewConflict(clusterv1.GroupVersion.WithResource("clusters").GroupResource(), name, errors.New("the cache does not show it yet"))
}

// lacksNamespace is whether there is nowhere to make something.
func lacksNamespace(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) || apierrors.IsNotFound(err)
}
