package addonrelease

import (
	"slices"
	"time"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// clusterDeletion is what is known of a TenantCluster that is being deleted.
type clusterDeletion struct {
	// cluster is what becomes of the cluster itself.
	cluster outcome
	// deadline until which a deleted release may hold it up; zero for as long as it takes.
	deadline time.Time
	// backupFirst: the final backup is not made yet, and has to be before anything is removed.
	backupFirst bool
}

// outcome for a cluster whose TenantCluster goes.
type outcome string

const (
	// clusterDeleted: Daytwo ordered it. It goes with all that is in it, so that only what is outside of it counts.
	clusterDeleted outcome = "goes along"
	// clusterKept: it was imported. All that is left in it stays there.
	clusterKept outcome = "lives on"
)

// clusterDeletionOf is nil for a TenantCluster that stays.
func clusterDeletionOf(tenant *tenancyv1alpha1.TenantCluster, release *addonsv1alpha1.AddonRelease) *clusterDeletion {
	if tenant.DeletionTimestamp == nil {
		return nil
	}
	going := &clusterDeletion{cluster: clusterKept, backupFirst: tenant.Spec.Deletion.FinalBackup && tenant.KeepsTargets()}
	if tenant.TakesClusterAlong() {
		going.cluster = clusterDeleted
	}
	if deleted := release.DeletionTimestamp; deleted != nil {
		going.deadline = tenant.AddonsDeadline(deleted.Time)
	}
	return going
}

// isDue: the deletion waits no longer for what has to do with the cluster.
func (d *clusterDeletion) isDue(now time.Time) bool {
	return d != nil && !d.deadline.IsZero() && !now.Before(d.deadline)
}

// isAbandonable: a deleted release goes without removing what it applied. If the whole cluster goes, only what
// stands for something outside of it is worth the time, and not for longer than the deletion may take. A cluster
// that lives on and answers is waited for, however long that takes.
func (o observation) isAbandonable() bool {
	switch {
	case o.release.DeletionTimestamp.IsZero():
		return false
	case o.abandoned() || orphaned(o.release):
		return true
	case !o.isClusterDeleted():
		return o.isGivenUp()
	}
	return len(o.external()) == 0 || o.going.isDue(o.Now) && !o.awaitsBackup()
}

// awaitsBackup: everything stays as it is until the cluster's final backup is made. Who deletes a namespace deletes
// releases before their turn. A cluster that does not answer is not waited for, as without a backup.
func (o observation) awaitsBackup() bool {
	return o.going != nil && o.going.backupFirst && o.unreachable == ""
}

// isGivenUp: the cluster lives on as far as anybody knows, does not answer, and its TenantCluster's deletion is due.
func (o observation) isGivenUp() bool {
	return o.going.isDue(o.Now) && o.going.cluster == clusterKept && o.unreachable != ""
}

// isLeft: the release goes, and all of it stays in a cluster that does not answer.
func (o observation) isLeft() bool {
	return !orphaned(o.release) && !o.isClusterDeleted() && (o.abandoned() || o.isGivenUp())
}

// givenUpWhen says when a cluster that does not answer is not waited for any longer.
func (o observation) givenUpWhen() string {
	if at := o.givenUpAt(); !at.IsZero() {
		return ", and left when the deletion of the TenantCluster is due, at " + at.UTC().Format(time.RFC3339)
	}
	return ""
}

// givenUpAt is when a deleted release stops waiting for its cluster; zero for never.
func (o observation) givenUpAt() time.Time {
	if o.going == nil || o.awaitsBackup() || o.going.cluster == clusterKept && o.unreachable == "" {
		return time.Time{}
	}
	return o.going.deadline
}

// untilGivenUp is how long until then, for a reconcile that has nothing else to wait for.
func (o observation) untilGivenUp() time.Duration {
	if at := o.givenUpAt(); !at.IsZero() {
		return max(at.Sub(o.Now), time.Second)
	}
	return 0
}

// external lists what stands for something outside of the cluster.
func (o observation) external() []apply.Entry {
	return slices.DeleteFunc(o.Inventory.Sorted(), func(e apply.Entry) bool { return !e.External })
}

func orphaned(release *addonsv1alpha1.AddonRelease) bool {
	return release.Spec.DeletionPolicy == metav1alpha1.DeletionPolicyOrphan
}
