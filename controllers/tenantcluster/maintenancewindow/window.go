// Package maintenancewindow says how the maintenance windows of a TenantCluster stand at a time. It is pure.
package maintenancewindow

import (
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/maintenance"
	"github.com/daytwo-dev/daytwo/controllers/internal/schedule"
)

// path is where a TenantCluster has its windows.
const path = "spec.maintenanceWindows"

// longOpen is beyond what a calendar looks ahead, or nearly: the end that it tells of windows that follow each
// other for ever moves with the clock, and is told to the day.
const longOpen = 30 * 24 * time.Hour

// State is how the windows stand.
type State struct {
	// Open: what disturbs the cluster may be done now.
	Open bool
	// Span is the window that is open, or else the next one; nil if there is none.
	Span *tenancyv1alpha1.Span
	// Invalid says which window cannot be read.
	Invalid string
}

// At is the state at a time. Without windows it is open.
func At(windows []metav1alpha1.RecurringWindow, now time.Time) State {
	calendar, err := maintenance.Parse(path, windows)
	if err != nil {
		return State{Invalid: err.Error()}
	}
	if calendar.Empty() {
		return State{Open: true}
	}
	if open, until := calendar.At(now); open {
		if until.Sub(now) > longOpen {
			until = until.Truncate(24 * time.Hour)
		}
		return State{Open: true, Span: Span(now, until)}
	}
	start, end, ok := calendar.Next(now)
	if !ok {
		return State{}
	}
	return State{Span: Span(start, end)}
}

// OpensAt is when the next window opens; zero if one is open, or none comes.
func (s State) OpensAt() time.Time {
	if s.Open || s.Span == nil {
		return time.Time{}
	}
	return s.Span.Start.Time
}

// ChangesAt is when the state is another one; zero if it stays.
func (s State) ChangesAt() time.Time {
	switch {
	case s.Span == nil:
		return time.Time{}
	case s.Open:
		return s.Span.End.Time
	}
	return s.Span.Start.Time
}

// Span in whole seconds, as the API server keeps times.
func Span(start, end time.Time) *tenancyv1alpha1.Span {
	return &tenancyv1alpha1.Span{Start: metav1.NewTime(start).Rfc3339Copy(), End: metav1.NewTime(end).Rfc3339Copy()}
}

// Check says which field of spec.maintenanceWindows cannot be read, and what to write instead: for admission, which
// refuses what a reconcile could only complain of.
func Check(windows []metav1alpha1.RecurringWindow) (field string, err error) {
	_, err = maintenance.Parse(path, windows)
	if refused := (*schedule.FieldError)(nil); errors.As(err, &refused) {
		return refused.Field, refused.Err
	}
	return path, err
}
