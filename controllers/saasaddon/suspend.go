package saasaddon

import (
	"fmt"
	"time"

	"github.com/daytwo-dev/daytwo/apis/common"
)

// suspension is whether a person asked for hands off, and until when.
type suspension struct {
	active bool
	// until is zero for a suspension that does not end by itself.
	until time.Time
	// complaint tells that the annotation cannot be read, and is ignored.
	complaint string
}

// suspensionOf reads spec.suspend and the annotation daytwo.dev/suspend-until of an object.
func suspensionOf(suspend bool, annotations map[string]string, now time.Time) suspension {
	found := suspension{active: suspend}
	value, set := annotations[common.AnnotationSuspendUntil]
	if !set {
		return found
	}
	until, err := time.Parse(time.RFC3339, value)
	if err != nil {
		found.complaint = fmt.Sprintf("the annotation %s is ignored: %q is no time as in 2006-01-02T15:04:05Z",
			common.AnnotationSuspendUntil, value)
		return found
	}
	if until.After(now) {
		found.until = until
		found.active = true
	}
	return found
}

func (s suspension) String() string {
	if s.until.IsZero() {
		return "suspended"
	}
	return "suspended until " + s.until.UTC().Format(time.RFC3339)
}

// earlier is the earlier of two times; zero is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}
