package truncate

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
)

const (
	ellipsis = "…"
	maxNote  = 1024
)

// Cut shortens a text to at most so many bytes, the mark included that something is missing. It never exceeds them, so that
// what it returns fits where a schema allows as many characters.
func Cut(text string, most int) string {
	switch {
	case len(text) <= most:
		return text
	case most < len(ellipsis):
		return strings.ToValidUTF8(text[:max(most, 0)], "")
	}
	return strings.ToValidUTF8(text[:most-len(ellipsis)], "") + ellipsis
}

// Recorder makes Events whose notes are cut to what the API server takes.
func Recorder(inner events.EventRecorder) events.EventRecorder { return recorder{inner} }

type recorder struct{ inner events.EventRecorder }

// Eventf implements events.EventRecorder.
func (r recorder) Eventf(regarding, related runtime.Object, kind, reason, action, note string, args ...any) {
	if text := fmt.Sprintf(note, args...); len(text) > maxNote {
		note, args = "%s", []any{Cut(text, maxNote)}
	}
	r.inner.Eventf(regarding, related, kind, reason, action, note, args...)
}
