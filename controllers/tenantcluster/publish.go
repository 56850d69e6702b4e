package tenantcluster

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/graceful"
	"github.com/daytwo-dev/daytwo/controllers/internal/throttle"
)

// publish writes the status, if it changed, and the events. A status that only mirrors how a cluster answers may be put off: then
// it returns after how long it is due.
func (r *reconciler) publish(ctx context.Context, o observation, done result, reported report) (later time.Duration, err error) {
	r.announce(done.cluster, reported.happened)
	updates := r.updates.Of(o.key)
	updates.Begin()
	if !reported.changed {
		return 0, nil
	}
	change := changeOf(done.cluster, reported.status)
	if mayWait := !o.deleting() && done.err == nil && done.handout == nil && !graceful.IsEnding(ctx); mayWait {
		put := done.cluster.DeepCopy()
		put.Status = reported.status
		if later := updates.PutOff(put, change, o.now); later > 0 {
			return later, nil
		}
	}
	if err := r.writeStatus(ctx, done.cluster, reported.status); err != nil {
		return 0, client.IgnoreNotFound(err)
	}
	updates.Wrote(change, r.options.StatusPause, o.now)
	r.announce(done.cluster, reported.events)
	return 0, nil
}

// changeOf is what a report changes in a status. How a cluster answers is up to its owner, who may have it change at any rate.
func changeOf(cluster *tenancyv1alpha1.TenantCluster, after tenancyv1alpha1.TenantClusterStatus) throttle.Change {
	rest := cluster.Status.DeepCopy()
	rest.Conditions, rest.LastSeen, rest.Phase, rest.Version = after.Conditions, after.LastSeen, after.Phase, after.Version
	return throttle.Change{
		Subject: fmt.Sprint(cluster.UID, cluster.Generation, requestIn(cluster)), Mirrors: equality.Semantic.DeepEqual(*rest, after),
		Before: cluster.Status.Conditions, After: after.Conditions,
	}
}

func (r *reconciler) writeStatus(ctx context.Context, cluster *tenancyv1alpha1.TenantCluster, status tenancyv1alpha1.TenantClusterStatus) error {
	before := cluster.DeepCopy()
	cluster.Status = status
	if err := r.client.Status().Patch(ctx, cluster, guardedPatch(before)); err != nil {
		return fmt.Errorf("write status: %w", err)
	}
	return nil
}

// writeAllUnsaved writes the statuses that were put off. No reconcile may be under way, and none may follow.
func (r *reconciler) writeAllUnsaved(ctx context.Context) error {
	return r.updates.WriteUnsaved(ctx, r.writeUnsaved)
}

// writeUnsaved writes the status that was put off, unless somebody changed the TenantCluster, which the next manager reports on.
func (r *reconciler) writeUnsaved(ctx context.Context, key types.NamespacedName, put *tenancyv1alpha1.TenantCluster) error {
	cluster := newTenantCluster()
	if err := r.client.Get(ctx, key, cluster); err != nil {
		return client.IgnoreNotFound(err)
	}
	if cluster.UID != put.UID || cluster.ResourceVersion != put.ResourceVersion {
		return nil
	}
	if err := r.writeStatus(ctx, cluster, put.Status); err != nil && !apierrors.IsConflict(err) {
		return client.IgnoreNotFound(err)
	}
	return nil
}

func (r *reconciler) announce(cluster *tenancyv1alpha1.TenantCluster, events []eventRecord) {
	for _, event := range events {
		r.events.Eventf(cluster, nil, event.kind, event.reason, event.action, "%s", event.note)
	}
}
