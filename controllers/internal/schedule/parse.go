package schedule

import (
	"fmt"
	"slices"
	"strings"
	"time"

	// A container image without time zones is no reason to refuse Europe/Berlin. Those of the system come
	// first, so an update of theirs takes effect. It adds 450 KB to the manager.
	_ "time/tzdata"

	"github.com/robfig/cron/v3"
)

// fiveFields reads the cron of five fields only: seconds and intervals have no place in it.
var fiveFields = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)

// shorthands for five fields. cron has @every beside them, which counts from whenever the process started.
var shorthands = []string{"@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually"}

// leapYear begins a year that has all dates there are: what does not come from here on within five years
// does not come.
var leapYear = time.Date(2024, time.January, 1, 0, 0, 0, 0, time.UTC).Add(-time.Nanosecond)

// Fields of what Parse reads.
const (
	FieldSchedule = "schedule"
	FieldTimeZone = "timeZone"
)

// FieldError is why an expression or a time zone cannot be read.
type FieldError struct {
	// Field is FieldSchedule or FieldTimeZone; a caller may prefix it.
	Field string
	Err   error
}

// Error implements error.
func (e *FieldError) Error() string { return e.Field + ": " + e.Err.Error() }

// Unwrap gives errors.Is and errors.As the reason.
func (e *FieldError) Unwrap() error { return e.Err }

// Parse reads a cron expression of five fields, or a shorthand such as "@daily", and the IANA name of a time zone, which is
// UTC if it is empty. The error says what to write instead; trying again is of no use.
func Parse(expression, zone string) (Recurrence, *FieldError) {
	times, err := parseExpression(strings.TrimSpace(expression))
	if err != nil {
		return Recurrence{}, &FieldError{Field: FieldSchedule, Err: err}
	}
	location, err := parseZone(zone)
	if err != nil {
		return Recurrence{}, &FieldError{Field: FieldTimeZone, Err: err}
	}
	return Recurrence{times: times, zone: location}, nil
}

func parseExpression(expression string) (*cron.SpecSchedule, error) {
	switch {
	case strings.HasPrefix(expression, "TZ=") || strings.HasPrefix(expression, "CRON_TZ="):
		return nil, fmt.Errorf("%q holds a time zone: write it into timeZone", expression)
	case strings.HasPrefix(expression, "@every"):
		return nil, fmt.Errorf("%q has no time of day: write the hours into the second field, as in \"0 */6 * * *\"", expression)
	case strings.HasPrefix(expression, "@") && !slices.Contains(shorthands, expression):
		return nil, fmt.Errorf("%q is unknown: write one of %s, or five fields", expression, strings.Join(shorthands, ", "))
	}
	parsed, err := fiveFields.Parse(expression)
	if err != nil {
		return nil, fmt.Errorf("%q cannot be read (%w): write minute 0-59, hour 0-23, day of month 1-31, month 1-12 "+
			"and day of week 0-6 from Sunday on, as in \"30 2 * * 6\" for Saturdays at 02:30", expression, err)
	}
	times, ok := parsed.(*cron.SpecSchedule)
	if !ok || times.Next(leapYear).IsZero() {
		return nil, fmt.Errorf("%q never comes: write a day that its month has", expression)
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
