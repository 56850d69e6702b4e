package tenantcluster

import (
	"errors"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/maintenance"
	"github.com/daytwo-dev/daytwo/controllers/internal/schedule"
)

// windowsField is where a TenantCluster has its windows.
const windowsField = "spec.maintenanceWindows"

// CheckMaintenanceWindows says which field of spec.maintenanceWindows cannot be read, and what to write instead: for
// admission, which refuses what a reconcile could only complain of.
func CheckMaintenanceWindows(windows []metav1alpha1.RecurringWindow) (field string, err error) {
	_, err = maintenance.Parse(windowsField, windows)
	if refused := (*schedule.FieldError)(nil); errors.As(err, &refused) {
		return refused.Field, refused.Err
	}
	return windowsField, err
}
