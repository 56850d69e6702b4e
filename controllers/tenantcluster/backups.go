package tenantcluster

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/deletion"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/topology"
)

// +kubebuilder:rbac:groups=backup.daytwo.dev,resources=backupenrollments,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=backup.daytwo.dev,resources=drdrills,verbs=get;list;watch

// latestBackup looks how old the data of the newest good backup of a cluster is.
func (r *reconciler) latestBackup(ctx context.Context, key types.NamespacedName) (topology.Backup, error) {
	members, err := r.targets.In(ctx, r.client, key)
	var newest topology.Backup
	for _, member := range members {
		if backup := member.Backup; backup != nil && backup.DataOf.After(newest.Latest) {
			newest.Latest = backup.DataOf
		}
	}
	return newest, err
}

// listBackups reads who is to make the last backup. Those who are leaving themselves will not.
func (r *reconciler) listBackups(ctx context.Context, key types.NamespacedName) ([]deletion.Enrollment, error) {
	members, err := r.targets.In(ctx, r.client, key)
	var found []deletion.Enrollment
	for _, member := range members {
		if backup := member.Backup; backup != nil && member.RemovedSince.IsZero() {
			found = append(found, deletion.Enrollment{
				NamespacedName: member.Key(), Kind: member.Kind.GroupVersionKind, LastSuccess: backup.DataOf,
				Requested: backup.Requested, Answered: backup.Answered, Problem: backup.Problem,
			})
		}
	}
	return found, err
}

// listDrills names the drills, and other runs, that are under way in a cluster: what works there and has no policy.
func (r *reconciler) listDrills(ctx context.Context, key types.NamespacedName) ([]string, error) {
	members, err := r.targets.In(ctx, r.client, key)
	var names []string
	for _, member := range members {
		if member.Kind.Policy == nil {
			names = append(names, member.String())
		}
	}
	return names, err
}
