package connectivity

import (
	"time"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
)

// ClusterDeletion is what is known of a TenantCluster that is being deleted.
type ClusterDeletion struct {
	// Outcome is what becomes of the cluster itself.
	Outcome Outcome
	// Deadline until which a deleted object may hold it up; zero for as long as it takes.
	Deadline time.Time
	// BackupFirst: the final backup is not made yet, and has to be before anything is removed.
	BackupFirst bool
}

// Outcome for a cluster whose TenantCluster goes.
type Outcome string

const (
	// ClusterDeleted is for a cluster that Daytwo ordered. It goes with all that is in it, so that only what is outside of it counts.
	ClusterDeleted Outcome = "goes along"
	// ClusterKept is for a cluster that was imported. All that is left in it stays there.
	ClusterKept Outcome = "lives on"
)

// ClusterDeletionOf is nil for a TenantCluster that stays.
func ClusterDeletionOf(tenant *tenancyv1alpha1.TenantCluster, subject Subject) *ClusterDeletion {
	if tenant.DeletionTimestamp == nil {
		return nil
	}
	going := &ClusterDeletion{Outcome: ClusterKept, BackupFirst: tenant.Spec.Deletion.FinalBackup && tenant.KeepsTargets()}
	if tenant.TakesClusterAlong() {
		going.Outcome = ClusterDeleted
	}
	if deleted := subject.GetDeletionTimestamp(); deleted != nil {
		going.Deadline = tenant.AddonsDeadline(deleted.Time)
	}
	return going
}

// isDue: the deletion waits no longer for what has to do with the cluster.
func (d *ClusterDeletion) isDue(now time.Time) bool {
	return d != nil && !d.Deadline.IsZero() && !now.Before(d.Deadline)
}

// IsAbandonable is whether a deleted object goes without removing what it has in the cluster; hasExternal is whether some of
// that stands for something outside of the cluster. If the whole cluster goes, only that is worth the time, and not for longer
// than the deletion may take. A cluster that lives on and answers is waited for, however long that takes.
func (c Connectivity) IsAbandonable(hasExternal bool) bool {
	switch {
	case !c.isDeleted():
		return false
	case c.IsAbandoned():
		return true
	case !c.IsClusterDeleted():
		return c.IsGivenUp()
	}
	return !hasExternal || c.ClusterDeletion.isDue(c.Now) && !c.AwaitsBackup()
}

// AwaitsBackup is whether everything stays as it is until the cluster's final backup is made. The deletion of a namespace
// deletes targets before their turn. A cluster that does not answer is not waited for, as without a backup.
func (c Connectivity) AwaitsBackup() bool {
	return c.ClusterDeletion != nil && c.ClusterDeletion.BackupFirst && c.Unreachable == ""
}

// IsGivenUp is whether the cluster lives on as far as is known, does not answer, and its TenantCluster's deletion is due.
func (c Connectivity) IsGivenUp() bool {
	return c.ClusterDeletion.isDue(c.Now) && c.ClusterDeletion.Outcome == ClusterKept && c.Unreachable != ""
}

// IsLeft is whether all that the object has stays in a cluster that lives on and does not answer.
func (c Connectivity) IsLeft() bool {
	return !c.IsClusterDeleted() && (c.IsAbandoned() || c.IsGivenUp())
}

// GivenUpWhen says when a cluster that does not answer is not waited for any longer.
func (c Connectivity) GivenUpWhen() string {
	if at := c.GivenUpAt(); !at.IsZero() {
		return ", and left when the deletion of the TenantCluster is due, at " + at.UTC().Format(time.RFC3339)
	}
	return ""
}

// GivenUpAt is when a deleted object stops waiting for its cluster; zero for never.
func (c Connectivity) GivenUpAt() time.Time {
	if c.ClusterDeletion == nil || c.AwaitsBackup() || c.ClusterDeletion.Outcome == ClusterKept && c.Unreachable == "" {
		return time.Time{}
	}
	return c.ClusterDeletion.Deadline
}

// UntilGivenUp is how long until GivenUpAt, for a reconcile that has nothing else to wait for.
func (c Connectivity) UntilGivenUp() time.Duration {
	if at := c.GivenUpAt(); !at.IsZero() {
		return max(at.Sub(c.Now), time.Second)
	}
	return 0
}

// IsClusterDeleted is whether the cluster goes, with all that is in it.
func (c Connectivity) IsClusterDeleted() bool {
	return c.ClusterDeletion != nil && c.ClusterDeletion.Outcome == ClusterDeleted
}

// IsAbandoned is whether a person wants an unreachable cluster not to be waited for.
func (c Connectivity) IsAbandoned() bool {
	return c.Unreachable != "" && c.Subject.GetAnnotations()[metav1alpha1.AnnotationAbandon] == "true"
}
