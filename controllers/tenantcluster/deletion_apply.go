package tenantcluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/deletion"
)

// recordGivenUp tells what was not waited for any longer, before the deletion goes on without it. That no final
// backup was made is recorded too.
func (r *reconciler) recordGivenUp(ctx context.Context, o observation, step deletion.Step) error {
	for _, given := range step.GivenUp {
		if given.Lost {
			if err := r.orphans.Write(ctx, o.key.Namespace, lostBackup(o.cluster, given.Why)); err != nil {
				return err
			}
		}
		r.events.Eventf(o.cluster, nil, corev1.EventTypeWarning, eventGivenUp, actionDelete, "%s: %s", given.Step, given.Why)
	}
	return nil
}

func lostBackup(cluster *tenancyv1alpha1.TenantCluster, why string) tenancyv1alpha1.OrphanRecordSpec {
	return tenancyv1alpha1.OrphanRecordSpec{
		ClusterName: cluster.Name, ClusterID: cluster.Status.ClusterID, Owner: ownedBy(cluster),
		Reason: tenancyv1alpha1.OrphanNoFinalBackup, Message: why,
	}
}

// confirmLeft makes sure that all targets are gone, and that none is just missing in the cache: nobody would find the
// cluster any more that it would have to be removed from.
func (r *reconciler) confirmLeft(ctx context.Context, o observation) error {
	if o.cluster == nil {
		return nil
	}
	kind, name, err := r.targets.Any(ctx, r.live, o.key)
	switch {
	case err != nil || kind == nil:
		return err
	case len(o.blockers.targets) > 0:
		return fmt.Errorf("%s %s came to TenantCluster %s when that had nothing left to remove: delete it", kind.Kind, name, o.key)
	}
	resource, _ := meta.UnsafeGuessKindToResource(kind.GroupVersionKind)
	return apierrors.NewConflict(resource.GroupResource(), name.String(), errors.New("the cache does not show it yet"))
}

// requestTime is when the deletion was asked for.
func requestTime(o observation) time.Time {
	if o.cluster.DeletionTimestamp.IsZero() {
		return time.Time{}
	}
	return o.cluster.DeletionTimestamp.Time
}
