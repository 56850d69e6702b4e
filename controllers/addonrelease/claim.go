package addonrelease

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/daytwo-dev/daytwo/controllers/addonrelease/helm"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// follow makes the watches of the cluster show what the release has there already. It returns the kinds that the
// cluster does not serve.
func (r *Reconciler) follow(ctx context.Context, o observation, cluster *fleet.Cluster) (unserved apply.Kinds, err error) {
	if err := r.restore(ctx, clusterKey(o.release), cluster); err != nil {
		return nil, err
	}
	if _, recorded := helm.RecordKey(o.status.Helm); recorded {
		if err := cluster.Watch(ctx, helm.SecretKind); err != nil {
			return nil, fmt.Errorf("watch the Helm release's record: %w", err)
		}
	}
	return o.objects().Follow(ctx, cluster)
}

// restore tells the tracker of all releases of a cluster what they own there, before any watch lists
// it: a watch keeps nothing of objects that no target claimed.
func (r *Reconciler) restore(ctx context.Context, key types.NamespacedName, cluster *fleet.Cluster) error {
	return cluster.Tracker.Restore(ownerKind, func(tracker *fleet.Tracker) error {
		releases, err := r.releasesIn(ctx, key)
		if err != nil {
			return err
		}
		for i := range releases {
			release := &releases[i]
			stored, err := apply.ReadInventory(release.Status.Inventory)
			if err != nil || release.Status.ClusterID != string(cluster.ID) {
				continue // Its own reconcile tells.
			}
			settings, version := settingsOf(release.Spec.Drift), rulesVersion(r.Rules, release.Spec.Drift)
			for key, e := range stored {
				tracker.Claim(ownerOf(release), key)
				tracker.Tolerate(key, settings.Tolerance(version, e.Ref, e.Environment))
				tracker.Expect(key, fleet.Expectation{UID: e.UID, Fingerprint: e.Fingerprint})
			}
			helm.Claim(tracker, ownerOf(release), release.Status.Helm)
		}
		return nil
	})
}

// commit comes between the plan and its application: the ledger is told what the release is about to forget, and what is
// about to be applied becomes the release's own.
func (r *Reconciler) commit(ctx context.Context, o observation, cluster *fleet.Cluster) error {
	if err := r.recordReplaced(ctx, o); err != nil {
		return err
	}
	if cluster == nil || !o.desiredKnown {
		return nil
	}
	if o.helm.Chart != nil {
		if err := apply.ClaimOne(cluster.Tracker, ownerOf(o.release), helm.ReleaseKey(o.helm.Chart.Release)); err != nil {
			return err
		}
	}
	return o.objects().Claim(cluster.Tracker, ownerOf(o.release))
}
