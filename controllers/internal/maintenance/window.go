package maintenance

import (
	"time"

	"github.com/daytwo-dev/daytwo/controllers/internal/schedule"
)

// window is one that recurs.
type window struct {
	opens    schedule.Recurrence
	duration time.Duration
}

// opensLate returns a time up to t at which the window opens, and from which it is open beyond t; false if
// there is none. The last such time would be best, so it looks at what is near first.
func (w window) opensLate(t time.Time) (time.Time, bool) {
	for back := time.Minute; ; back *= 2 {
		back = min(back, w.duration)
		if opens, ok := w.opens.After(t.Add(-back)); ok && !opens.After(t) {
			return opens, true
		}
		if back == w.duration {
			return time.Time{}, false
		}
	}
}
