package tenantcluster

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/optionalkind"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/maintenancewindow"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/topology"
)

// clusterAPICluster is what Cluster API has of a TenantCluster. The zero value is for one that has nothing
// to do with it.
type clusterAPICluster struct {
	presence optionalkind.Presence
	// live is nil unless present.
	live *clusterv1.Cluster
	// editor of the topology since Daytwo wrote it, for people; looked for only if it is not as Cluster API took it.
	editor string
	// untold is the editor of an earlier look if the answer to taking the edit back was lost; empty otherwise.
	untold string
	// unsettled says that Cluster API does not serve the version that is needed, or not yet.
	unsettled error
}

func (r *reconciler) observeClusterAPI(ctx context.Context, cluster *tenancyv1alpha1.TenantCluster, in home) (clusterAPICluster, error) {
	key := r.options.Orders.ClusterOf(cluster)
	if key.Name == "" {
		return clusterAPICluster{}, nil
	}
	live, found, err := r.clusters.Look(ctx, key)
	if err != nil && !meta.IsNoMatchError(err) {
		return clusterAPICluster{}, err
	}
	if in.problem != nil && live != nil {
		live, found = nil, optionalkind.Absent // It may be another customer's.
	}
	made := clusterAPICluster{presence: found, live: live, untold: r.memory.Of(client.ObjectKeyFromObject(cluster)).untold, unsettled: err}
	if cluster.Spec.Topology == nil || live == nil || topology.Fingerprint(live) == cluster.Status.TopologyHash {
		return made, nil
	}
	made.editor, err = r.clusters.EditorOf(ctx, live)
	return made, err
}

// observeMaintenance reads the windows, and what else an upgrade that is due waits for.
func (r *reconciler) observeMaintenance(ctx context.Context, o *observation) error {
	spec := o.cluster.Spec
	o.maintenance = maintenancewindow.At(spec.MaintenanceWindows, o.now)
	if spec.Topology == nil || o.made.live == nil || o.deleting() || spec.Topology.Version == o.made.live.Spec.Topology.Version {
		return nil
	}
	var err error
	if o.unready, err = r.remaining().Unready(ctx, o.key); err != nil {
		return err
	}
	if spec.Upgrade.RequireBackupWithin != nil {
		o.backup, err = r.remaining().LatestBackup(ctx, o.key)
	}
	return err
}

// wholeSeconds is how the API server keeps times.
func wholeSeconds(at time.Time) *metav1.Time {
	seconds := metav1.NewTime(at).Rfc3339Copy()
	return &seconds
}
