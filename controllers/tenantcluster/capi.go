package tenantcluster

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/daytwo-dev/daytwo/controllers/internal/optionalkind"
)

// clusterDefinition is the CRD of Cluster API's Clusters.
const clusterDefinition = "clusters.cluster.x-k8s.io"

// secretSuffix is what Cluster API's contract for kubeconfig Secrets appends to a Cluster's name.
const secretSuffix = "-kubeconfig"

var clusterKind = clusterv1.GroupVersion.WithKind("Cluster")

// clusterAPI looks Clusters up where Cluster API is installed.
type clusterAPI struct {
	clusters *optionalkind.Kind[reconcile.Request]
}

func newClusterAPI(mgr manager.Manager, built controller.Controller, r *reconciler) *clusterAPI {
	return &clusterAPI{&optionalkind.Kind[reconcile.Request]{
		Definition: clusterDefinition, GVK: clusterKind, New: func() client.Object { return &clusterv1.Cluster{} },
		Cache: mgr.GetCache(), Mapper: mgr.GetRESTMapper(), Controller: built, Wake: r.toUsersOfCluster,
	}}
}

// look reads a Cluster, nil unless it is present. Its errors are those of optionalkind.
func (c *clusterAPI) look(ctx context.Context, key types.NamespacedName) (*clusterv1.Cluster, optionalkind.Presence, error) {
	found, presence, err := c.clusters.Look(ctx, key)
	if found == nil {
		return nil, presence, err
	}
	return found.(*clusterv1.Cluster), presence, err
}
