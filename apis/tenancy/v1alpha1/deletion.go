package v1alpha1

import "time"

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
// deleted it does until status says that the step RemovingAddons has begun; before, nothing new comes there.
func (c *TenantCluster) KeepsTargets() bool {
	if c.DeletionTimestamp.IsZero() || c.Status.Deletion == nil {
		return true
	}
	switch c.Status.Deletion.Step {
	case DeletionRemovingAddons, DeletionRemovingCluster, DeletionReleasing:
		return false
	}
	return true
}

// AddonsDeadline is until when a target that was deleted then may take to clean up in the cluster of a
// TenantCluster that is being deleted; zero for as long as it takes. What kept the target from being deleted
// after its step had begun does not count.
func (c *TenantCluster) AddonsDeadline(deleted time.Time) time.Time {
	record := c.Status.Deletion
	switch {
	case c.DeletionTimestamp.IsZero():
		return time.Time{}
	case c.KeepsTargets():
		// It goes for another reason than the TenantCluster, or by somebody else's hand.
		return latest(c.DeletionTimestamp.Time, deleted).Add(c.AddonsTimeout())
	case record.Deadline == nil:
		return time.Time{}
	}
	return record.Deadline.Add(max(deleted.Sub(record.Since.Time), 0))
}

// AddonsTimeout is how much of the timeout add-ons may take: a quarter is left to Cluster API, if it removes the
// cluster.
func (c *TenantCluster) AddonsTimeout() time.Duration {
	if c.Spec.Topology != nil {
		return c.DeletionTimeout() * 3 / 4
	}
	return c.DeletionTimeout()
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// TakesClusterAlong says whether the cluster itself goes with a TenantCluster that is being deleted:
// Daytwo ordered it, and nobody else needs it.
func (c *TenantCluster) TakesClusterAlong() bool {
	return c.DeletionTimestamp != nil && c.Spec.Topology != nil
}
