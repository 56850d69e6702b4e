package backuppolicy

import (
	"errors"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/maintenance"
	"github.com/daytwo-dev/daytwo/controllers/internal/schedule"
)

// checkBlackouts returns what is wrong with the windows in which no backup starts; nil for nothing.
func checkBlackouts(windows []metav1alpha1.RecurringWindow) *Problem {
	_, err := maintenance.Parse("spec.schedule.blackouts", windows)
	if refused := (*schedule.FieldError)(nil); errors.As(err, &refused) {
		return &Problem{refused.Field, refused.Err.Error()}
	}
	return nil
}
