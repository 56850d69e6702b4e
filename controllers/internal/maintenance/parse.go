package maintenance

import (
	"fmt"
	"time"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/schedule"
)

// Bounds of a window's duration, as the API has them.
const (
	minDuration = time.Minute
	maxDuration = 168 * time.Hour
)

// Parse reads the windows of a field, as in "spec.maintenanceWindows". An error is a [schedule.FieldError] with the field of
// the window in it, and says what to write instead; trying again with the same windows is of no use.
func Parse(field string, windows []metav1alpha1.RecurringWindow) (Calendar, error) {
	var calendar Calendar
	for i, declared := range windows {
		parsed, err := parseWindow(declared)
		if err != nil {
			return Calendar{}, &schedule.FieldError{Field: fmt.Sprintf("%s[%d].%s", field, i, err.Field), Err: err.Err}
		}
		calendar.windows = append(calendar.windows, parsed)
	}
	return calendar, nil
}

func parseWindow(declared metav1alpha1.RecurringWindow) (window, *schedule.FieldError) {
	opens, err := schedule.Parse(declared.Schedule, declared.TimeZone)
	if err != nil {
		return window{}, err
	}
	duration := declared.Duration.Duration
	if duration < minDuration || duration > maxDuration {
		return window{}, &schedule.FieldError{Field: "duration", Err: fmt.Errorf("%s is not from 1m to 168h: write it as 90m or 2h30m", duration)}
	}
	return window{opens: opens, duration: duration}, nil
}
