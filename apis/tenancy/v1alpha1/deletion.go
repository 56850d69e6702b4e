package v1alpha1

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DefaultDeletionTimeout is spec.deletion.timeout where it is not set.
const DefaultDeletionTimeout = 15 * time.Minute

// DeletionTimeout is spec.deletion.timeout, or its default.
func (c *TenantCluster) DeletionTimeout() time.Duration {
	if given := c.Spec.Deletion.Timeout; given != nil {
		return given.Duration
	}
	return DefaultDeletionTimeout
}

// KeepsTargets says whether what runs in the cluster stays and is kept as it is. Of a TenantCluster that is being
// deleted it does until status says that the step RemovingTargets has begun; before, nothing new comes there.
func (c *TenantCluster) KeepsTargets() bool {
	if c.DeletionTimestamp.IsZero() || c.Status.Deletion == nil {
		return true
	}
	switch c.Status.Deletion.Step {
	case DeletionRemovingTargets, DeletionRemovingCluster, DeletionReleasing:
		return false
	}
	return true
}

// AddonsDeadline is until when a target that was deleted then may take to clean up in the cluster of a
// TenantCluster that is being deleted; zero for as long as it takes, which an imported cluster has while it answers.
func (c *TenantCluster) AddonsDeadline(deleted time.Time) time.Time {
	if c.DeletionTimestamp.IsZero() {
		return time.Time{}
	}
	if !c.KeepsTargets() {
		return c.Status.Deletion.DeadlineFor(deleted, c.AddonsTimeout())
	}
	// It goes for another reason than the TenantCluster, or by somebody else's hand.
	from := slices.MaxFunc([]time.Time{c.DeletionTimestamp.Time, deleted}, time.Time.Compare)
	if c.Spec.Topology == nil {
		silent := c.silentSince()
		if silent.IsZero() {
			return time.Time{}
		}
		from = slices.MaxFunc([]time.Time{from, silent}, time.Time.Compare)
	}
	return from.Add(c.AddonsTimeout())
}

// DeadlineFor is until when this step waits for a target that was deleted then; zero for as long as it takes. What
// kept the target from being deleted after the step had begun does not count: it has as long as the others had,
// but no more than so much.
func (d *Deletion) DeadlineFor(deleted time.Time, most time.Duration) time.Time {
	if d.Deadline == nil {
		return time.Time{}
	}
	return slices.MaxFunc([]time.Time{d.Deadline.Time, deleted.Add(min(d.Deadline.Sub(d.Since.Time), most))}, time.Time.Compare)
}

// silentSince is since when the cluster cannot be worked in, as far as status says; zero if it can.
func (c *TenantCluster) silentSince() time.Time {
	for _, bad := range []metav1.Condition{
		{Type: ConditionConnected, Status: metav1.ConditionFalse},
		{Type: ConditionIdentityConflict, Status: metav1.ConditionTrue},
	} {
		if found := meta.FindStatusCondition(c.Status.Conditions, bad.Type); found != nil && found.Status == bad.Status {
			return found.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

// AddonsTimeout is how much of the timeout add-ons may take: a quarter is left to Cluster API, if it removes the
// cluster.
func (c *TenantCluster) AddonsTimeout() time.Duration {
	if c.Spec.Topology != nil {
		return c.DeletionTimeout() * 3 / 4
	}
	return c.DeletionTimeout()
}

// TakesClusterAlong says whether the cluster itself goes with a TenantCluster that is being deleted:
// Daytwo ordered it, and nobody else needs it.
func (c *TenantCluster) TakesClusterAlong() bool {
	return c.DeletionTimestamp != nil && c.Spec.Topology != nil
}
