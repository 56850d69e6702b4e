package tenantcluster

import (
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/maintenance"
)

// CheckMaintenanceWindows says which of spec.maintenanceWindows cannot be read, and what to write instead: for
// admission, which refuses what a reconcile could only complain of.
func CheckMaintenanceWindows(windows []tenancyv1alpha1.MaintenanceWindow) error {
	_, err := maintenance.Parse(windows)
	return err
}
