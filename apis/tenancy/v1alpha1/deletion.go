package v1alpha1

import "time"

// DefaultDeletionTimeout is spec.deletion.timeout where it is not set.
const DefaultDeletionTimeout = 15 * time.Minute

// DeletionDeadline is when the deletion of a TenantCluster no longer waits for its cluster. It is only
// meant for one that is being deleted.
func (c *TenantCluster) DeletionDeadline() time.Time {
	timeout := DefaultDeletionTimeout
	if given := c.Spec.Deletion.Timeout; given != nil {
		timeout = given.Duration
	}
	return c.DeletionTimestamp.Add(timeout)
}

// TakesClusterAlong says whether the cluster itself goes with a TenantCluster that is being deleted:
// Daytwo ordered it, and nobody else needs it.
func (c *TenantCluster) TakesClusterAlong() bool {
	return c.DeletionTimestamp != nil && c.Spec.Topology != nil
}
