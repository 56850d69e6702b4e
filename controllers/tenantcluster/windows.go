package tenantcluster

import (
	"errors"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/maintenance"
	"github.com/daytwo-dev/daytwo/controllers/internal/schedule"
)

// CheckMaintenanceWindows says which field of spec.maintenanceWindows cannot be read, and what to write instead: for
// admission, which refuses what a reconcile could only complain of.
func CheckMaintenanceWindows(windows []tenancyv1alpha1.MaintenanceWindow) (field string, err error) {
	_, err = maintenance.Parse(windows)
	if refused := (*schedule.FieldError)(nil); errors.As(err, &refused) {
		return refused.Field, refused.Err
	}
	return "spec.maintenanceWindows", err
}
