package render

import (
	"context"
	"sync"
	"time"
)

// patience is how many times Limits.Time a rendering may last on a machine that is busy with other things.
const patience = 5

// courtesy is the processor time after which a rendering gives way to everything else. Most renderings take less.
const courtesy = 500 * time.Millisecond

// meterPause is the least time between two looks at a worker's processor time.
const meterPause = 10 * time.Millisecond

// meter measures what one worker takes for one rendering. It has the worker give way when that is much, and ends the
// rendering when it is too much: of processor time, in which the time that lookups take counts too, or of time at all.
type meter struct {
	limits Limits
	worker *process
	// end is told why the rendering has to end.
	end context.CancelCauseFunc

	mu      sync.Mutex
	timer   *time.Timer
	stopped bool
	// excess is the processor time that renderings took beyond courtesy, those before the one under way.
	excess time.Duration
	// began, and the worker's processor time then. Taken is what it has taken since, as of the last look.
	began         time.Time
	before, taken time.Duration
	// asked is how long the lookups took that are answered; asking since when one is under way, or zero.
	asked  time.Duration
	asking time.Time
}

// startMeter measures from now on, until it is stopped.
func startMeter(limits Limits, worker *process, end context.CancelCauseFunc) *meter {
	m := &meter{limits: limits, worker: worker, end: end, began: time.Now(), before: worker.processorTime()}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.timer = time.AfterFunc(min(courtesy, limits.Time), m.look)
	return m
}

// begin measures from now on, as another rendering begins: a long-lived worker has taken much for earlier ones.
func (m *meter) begin() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.excess += m.excessNow()
	m.began, m.before, m.taken, m.asked = time.Now(), m.worker.processorTime(), 0, 0
}

// stop returns the processor time that the renderings took beyond courtesy each.
func (m *meter) stop() (excess time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stopped = true
	m.timer.Stop()
	return m.excess + m.excessNow()
}

// excessNow is that of the rendering under way.
func (m *meter) excessNow() time.Duration {
	// A worker that has ended tells nothing any more.
	return max(0, m.taken-courtesy, m.worker.processorTime()-m.before-courtesy)
}

// lookup measures a lookup until the returned function is called.
func (m *meter) lookup() (answered func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asking = time.Now()
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.asked += time.Since(m.asking)
		m.asking = time.Time{}
	}
}

// look ends the rendering if it has taken too much, and otherwise looks again when that may be so at the earliest.
func (m *meter) look() {
	m.mu.Lock()
	defer m.mu.Unlock()
	asked := m.asked
	if !m.asking.IsZero() {
		asked += time.Since(m.asking)
	}
	m.taken = m.worker.processorTime() - m.before
	left := m.limits.Time - asked - m.taken
	patient := patience*m.limits.Time - time.Since(m.began)
	switch {
	case m.stopped:
	case left <= 0:
		m.end(m.limits.timeExceeded(asked))
	case patient <= 0:
		m.end(m.limits.impatient())
	case m.taken < courtesy:
		m.timer.Reset(max(min(left, patient, courtesy-m.taken), meterPause))
	default:
		m.worker.giveWay()
		m.timer.Reset(max(min(left, patient), meterPause))
	}
}
