package maintenance

import (
	"fmt"
	"slices"
	"strings"
	"time"

	// A container image without time zones is no reason to refuse Europe/Berlin. Those of the system come
	// first, so an update of theirs takes effect. It adds 450 KB to the manager.
	_ "time/tzdata"

	"github.com/robfig/cron/v3"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
)

// Bounds of a window's duration, as the API has them.
const (
	minDuration = time.Minute
	maxDuration = 168 * time.Hour
)

// fiveFields reads the cron of five fields only: seconds and intervals have no place in it.
var fiveFields = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)

// shorthands for five fields. cron has @every beside them, which counts from whenever the process started.
var shorthands = []string{"@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually"}

// leapYear begins a year that has all dates there are: what does not come from here on within five years
// does not come.
var leapYear = time.Date(2024, time.January, 1, 0, 0, 0, 0, time.UTC).Add(-time.Nanosecond)

// Parse reads windows as spec.maintenanceWindows has them. An error names the field, and says what to write
// instead; trying again with the same windows is of no use.
func Parse(windows []tenancyv1alpha1.MaintenanceWindow) (Calendar, error) {
	var calendar Calendar
	for i, declared := range windows {
		parsed, err := parseWindow(declared)
		if err != nil {
			return Calendar{}, &FieldError{Field: fmt.Sprintf("spec.maintenanceWindows[%d].%s", i, err.Field), Err: err.Err}
		}
		calendar.windows = append(calendar.windows, parsed)
	}
	return calendar, nil
}

// FieldError is why a window cannot be read.
type FieldError struct {
	// Field of the TenantCluster, as in "spec.maintenanceWindows[0].schedule".
	Field string
	Err   error
}

// Error implements error.
func (e *FieldError) Error() string { return e.Field + ": " + e.Err.Error() }

// Unwrap gives errors.Is and errors.As the reason.
func (e *FieldError) Unwrap() error { return e.Err }

func parseWindow(declared tenancyv1alpha1.MaintenanceWindow) (window, *FieldError) {
	times, err := parseSchedule(strings.TrimSpace(declared.Schedule))
	if err != nil {
		return window{}, &FieldError{Field: "schedule", Err: err}
	}
	duration := declared.Duration.Duration
	if duration < minDuration || duration > maxDuration {
		return window{}, &FieldError{Field: "duration", Err: fmt.Errorf("%s is not from 1m to 168h: write it as 90m or 2h30m", duration)}
	}
	zone, err := parseZone(declared.TimeZone)
	if err != nil {
		return window{}, &FieldError{Field: "timeZone", Err: err}
	}
	return window{times: times, duration: duration, zone: zone}, nil
}

func parseSchedule(schedule string) (cron.Schedule, error) {
	switch {
	case strings.HasPrefix(schedule, "TZ=") || strings.HasPrefix(schedule, "CRON_TZ="):
		return nil, fmt.Errorf("%q holds a time zone: write it into timeZone", schedule)
	case strings.HasPrefix(schedule, "@every"):
		return nil, fmt.Errorf("%q has no time of day: write the hours into the second field, as in \"0 */6 * * *\"", schedule)
	case strings.HasPrefix(schedule, "@") && !slices.Contains(shorthands, schedule):
		return nil, fmt.Errorf("%q is unknown: write one of %s, or five fields", schedule, strings.Join(shorthands, ", "))
	}
	times, err := fiveFields.Parse(schedule)
	if err != nil {
		return nil, fmt.Errorf("%q cannot be read (%w): write minute 0-59, hour 0-23, day of month 1-31, month 1-12 "+
			"and day of week 0-6 from Sunday on, as in \"30 2 * * 6\" for Saturdays at 02:30", schedule, err)
	}
	if times.Next(leapYear).IsZero() {
		return nil, fmt.Errorf("%q never comes: write a day that its month has", schedule)
	}
	return times, nil
}

// parseZone refuses "Local", which is wherever the manager happens to run.
func parseZone(name string) (*time.Location, error) {
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return nil, fmt.Errorf("%q is no time zone: write its IANA name, as in \"Europe/Berlin\", or leave it out for UTC", name)
	}
	return zone, nil
}
