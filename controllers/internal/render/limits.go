package render

import (
	"fmt"
	"time"

	"github.com/daytwo-dev/daytwo/controllers/internal/render/manifest"
)

// Limits bounds what one request may use.
type Limits struct {
	// Time that a rendering may take of a worker's processor, and for lookups; 10 s if zero. A chart is rendered
	// twice, and each of the two may take as much. On a machine that is busy with other things a rendering may last five
	// times as long. Processor time is measured on Linux only; elsewhere only those five times count.
	Time time.Duration
	// Output in bytes: of all templates together, and again of the objects as JSON; 10 MiB if
	// zero. The sources of a request, or its layers of values, may not be larger either.
	Output int
	// Memory in bytes that a worker may use beyond what it needs to be there; 256 MiB if zero.
	// Enforced by the kernel on Linux, elsewhere only a target for the garbage collector.
	Memory int64
}

func (l Limits) withDefaults() Limits {
	if l.Time == 0 {
		l.Time = 10 * time.Second
	}
	if l.Output == 0 {
		l.Output = 10 << 20
	}
	if l.Memory == 0 {
		l.Memory = 256 << 20
	}
	return l
}

// timeExceeded blames lookups if most of the time was theirs.
func (l Limits) timeExceeded(lookups time.Duration) *manifest.Error {
	if lookups > l.Time/2 {
		return &manifest.Error{Reason: manifest.TimeLimitExceeded, Message: fmt.Sprintf("rendering took longer than %s, most of it for the chart's lookups, and was stopped: "+
			"see why the cluster answers slowly, or use a chart that looks up less", l.Time)}
	}
	return &manifest.Error{Reason: manifest.TimeLimitExceeded, Message: fmt.Sprintf(
		"rendering took more than %s of processor time and was stopped: look for a loop that never ends or ranges over too much", l.Time)}
}

// impatient has no figures that differ from one try to the next.
func (l Limits) impatient() error {
	return fmt.Errorf("%w: it had less than %s of processor time within %s; it is tried again. If that goes on, give the manager more processors",
		ErrMachineBusy, l.Time, patience*l.Time)
}

func (l Limits) memoryExceeded() *manifest.Error {
	return &manifest.Error{Reason: manifest.MemoryLimitExceeded, Message: fmt.Sprintf(
		"rendering took more than %s of memory and was stopped: look for a template that calls itself or a value that keeps growing", size(l.Memory))}
}

func outputExceeded(limit int) *manifest.Error {
	return &manifest.Error{Reason: manifest.OutputLimitExceeded, Message: fmt.Sprintf(
		"what is rendered is larger than %s: split it over several add-ons, or turn off parts of the chart", size(int64(limit)))}
}

func inputExceeded(limit int) *manifest.Error {
	return &manifest.Error{Reason: manifest.OutputLimitExceeded, Message: fmt.Sprintf(
		"the manifest templates, or the layers of values, are larger than %s together: split them over several add-ons", size(int64(limit)))}
}

// size prints bytes as whole MiB where they are.
func size(bytes int64) string {
	if bytes >= 1<<20 && bytes%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", bytes>>20)
	}
	return fmt.Sprintf("%d bytes", bytes)
}
