package tenantcluster

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/maintenance"
	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
	"github.com/daytwo-dev/daytwo/controllers/internal/optionalkind"
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
	// unsettled says that Cluster API does not serve the version that is needed, or not yet.
	unsettled error
}

// maintenanceState is how spec.maintenanceWindows stand now.
type maintenanceState struct {
	// open: what disturbs the cluster may be done now.
	open bool
	// span is the window that is open, or else the next one; nil if there is none.
	span *tenancyv1alpha1.Span
	// invalid says which window cannot be read.
	invalid string
}

// opensAt is when the next window opens; zero if one is open, or none comes.
func (m maintenanceState) opensAt() time.Time {
	if m.open || m.span == nil {
		return time.Time{}
	}
	return m.span.Start.Time
}

// changesAt is when the state is another one; zero if it stays.
func (m maintenanceState) changesAt() time.Time {
	switch {
	case m.span == nil:
		return time.Time{}
	case m.open:
		return m.span.End.Time
	}
	return m.span.Start.Time
}

func (r *reconciler) observeClusterAPI(ctx context.Context, cluster *tenancyv1alpha1.TenantCluster, in home) (clusterAPICluster, error) {
	key := r.options.Orders.ClusterOf(cluster)
	if key.Name == "" {
		return clusterAPICluster{}, nil
	}
	live, found, err := r.clusterAPI.look(ctx, key)
	if err != nil && !meta.IsNoMatchError(err) {
		return clusterAPICluster{}, err
	}
	if in.problem != nil && live != nil {
		live, found = nil, optionalkind.Absent // It may be another customer's.
	}
	made := clusterAPICluster{presence: found, live: live, unsettled: err}
	made.editor, err = r.editorOf(ctx, cluster, live)
	return made, err
}

// editorOf finds out who edited the Cluster of an order, if its topology is not as Cluster API took it. The cache has
// no managedFields.
func (r *reconciler) editorOf(ctx context.Context, cluster *tenancyv1alpha1.TenantCluster, live *clusterv1.Cluster) (string, error) {
	if cluster.Spec.Topology == nil || live == nil || topology.Fingerprint(live) == cluster.Status.TopologyHash {
		return "", nil
	}
	now := &metav1.PartialObjectMetadata{}
	now.SetGroupVersionKind(clusterKind)
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(live), now); err != nil {
		if apierrors.IsNotFound(err) {
			return "", nil
		}
		return "", fmt.Errorf("read who edited Cluster %s: %w", live.Name, err)
	}
	return topology.Editor(now, managedfields.ManagerOf(r.options.Orders.Installation)), nil
}

// observeMaintenance reads the windows, and what else an upgrade that is due waits for.
func (r *reconciler) observeMaintenance(ctx context.Context, o *observation) error {
	spec := o.cluster.Spec
	o.maintenance = maintenanceAt(spec.MaintenanceWindows, o.now)
	if spec.Topology == nil || o.made.live == nil || o.deleting() || spec.Topology.Version == o.made.live.Spec.Topology.Version {
		return nil
	}
	var err error
	if o.unready, err = r.listUnready(ctx, o.key); err != nil {
		return err
	}
	if spec.Upgrade.RequireBackupWithin != nil {
		o.backup, err = r.latestBackup(ctx, o.key)
	}
	return err
}

// longOpen is beyond what a calendar looks ahead, or nearly: the end that it tells of windows that follow each
// other for ever moves with the clock, and is told to the day.
const longOpen = 30 * 24 * time.Hour

func maintenanceAt(windows []metav1alpha1.RecurringWindow, now time.Time) maintenanceState {
	calendar, err := maintenance.Parse(windowsField, windows)
	if err != nil {
		return maintenanceState{invalid: err.Error()}
	}
	if calendar.Empty() {
		return maintenanceState{open: true}
	}
	if open, until := calendar.At(now); open {
		if until.Sub(now) > longOpen {
			until = until.Truncate(24 * time.Hour)
		}
		return maintenanceState{open: true, span: spanOf(now, until)}
	}
	start, end, ok := calendar.Next(now)
	if !ok {
		return maintenanceState{}
	}
	return maintenanceState{span: spanOf(start, end)}
}

func spanOf(start, end time.Time) *tenancyv1alpha1.Span {
	return &tenancyv1alpha1.Span{Start: *wholeSeconds(start), End: *wholeSeconds(end)}
}

// listUnready lists the targets in a cluster that are not Ready.
func (r *reconciler) listUnready(ctx context.Context, key types.NamespacedName) ([]string, error) {
	members, err := r.targets.In(ctx, r.client, key)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, member := range members {
		if !member.Ready {
			names = append(names, member.String())
		}
	}
	return names, nil
}

// wholeSeconds is how the API server keeps times.
func wholeSeconds(at time.Time) *metav1.Time {
	seconds := metav1.NewTime(at).Rfc3339Copy()
	return &seconds
}
