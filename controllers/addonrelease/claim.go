package addonrelease

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// follow makes the watches of the cluster show what the release has there already. It returns the kinds that the
// cluster does not serve.
func (r *Reconciler) follow(ctx context.Context, o observation, cluster *fleet.Cluster) (unserved kinds, err error) {
	if err := r.restore(ctx, clusterKey(o.release), cluster); err != nil {
		return nil, err
	}
	if _, recorded := recordKey(o.status.Helm); recorded {
		if err := cluster.Watch(ctx, secretKind); err != nil {
			return nil, fmt.Errorf("watch the Helm release's record: %w", err)
		}
	}
	return o.objects().follow(ctx, cluster)
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
			stored, err := readInventory(release.Status.Inventory)
			if err != nil || release.Status.ClusterID != string(cluster.ID) {
				continue // Its own reconcile tells.
			}
			settings, version := settingsOf(release.Spec.Drift), rulesVersion(r.Rules, release.Spec.Drift)
			for key, e := range stored {
				tracker.Claim(ownerOf(release), key)
				tracker.Tolerate(key, settings.tolerance(version, e.Ref, e.environment))
				tracker.Expect(key, fleet.Expectation{UID: e.uid, Fingerprint: e.fingerprint})
			}
			claimHelm(tracker, ownerOf(release), release.Status.Helm)
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
	if o.helm.chart != nil {
		if err := claimOne(cluster.Tracker, ownerOf(o.release), releaseKey(o.helm.chart.release)); err != nil {
			return err
		}
	}
	return o.objects().claim(cluster.Tracker, ownerOf(o.release))
}

// claim makes the desired objects that no other target holds the owner's.
func (o objectsObservation) claim(tracker *fleet.Tracker, owner fleet.Owner) error {
	for _, d := range o.desired {
		if _, taken := o.holders[d.Key()]; taken {
			continue
		}
		if _, listed := o.inventory[d.Key()]; !listed {
			if err := claimOne(tracker, owner, d.Key()); err != nil {
				return err
			}
		}
		tracker.Tolerate(d.Key(), o.settings.tolerance(o.rulesVersion, d.Ref, d.environment))
	}
	return nil
}

// claimOne makes an object the owner's. It fails if another target was faster; the next plan knows of that one.
func claimOne(tracker *fleet.Tracker, owner fleet.Owner, key objects.Key) error {
	if holder, ok := tracker.Claim(owner, key); !ok {
		return fmt.Errorf("%s was just claimed by %s %s; it is planned again", key, holder.Kind, holder.NamespacedName)
	}
	return nil
}
