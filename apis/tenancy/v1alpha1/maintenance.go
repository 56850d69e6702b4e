package v1alpha1

import "time"

// InMaintenance says whether what disturbs a cluster may be done there now, as far as its status tells: it has
// no maintenance windows, or one is open. The status is written when a window opens or closes.
func (c *TenantCluster) InMaintenance(now time.Time) bool {
	if len(c.Spec.MaintenanceWindows) == 0 {
		return true
	}
	window := c.Status.MaintenanceWindow
	return window != nil && !now.Before(window.Start.Time) && now.Before(window.End.Time)
}
