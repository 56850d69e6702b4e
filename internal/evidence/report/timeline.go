package report

import (
	"fmt"
	"time"

	"github.com/daytwo-dev/daytwo/internal/evidence"
)

// minWidth is how wide a step without a duration is drawn, in percent: times are in whole seconds, and most steps are shorter.
const minWidth = 1.5

// maxTicks is how many lengths of time are marked.
const maxTicks = 4

// tickLengths are distances of ticks that are read easily. Longer ones are multiples of the last.
var tickLengths = [...]time.Duration{
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour,
}

// timeline is when the steps of a drill began and ended.
type timeline struct {
	Rows  []row
	Ticks []tick
}

// row is one step. X and Width are in percent of the timeline, and do not leave it; a Width of 0 is not drawn.
type row struct {
	Name, Object string
	X, Width     float64
	// When says in words what is drawn.
	When string
	Took string
	Mark mark
}

// tick is a mark of the time since the start of the timeline. X is in percent.
type tick struct {
	X    float64
	Text string
}

// span is the time that a timeline shows.
type span struct {
	from time.Time
	long time.Duration
}

// timelineOf a drill begins with its start, or with its first step where that is earlier or the start is not known.
func timelineOf(d drill) timeline {
	s := spanOf(d)
	var t timeline
	for _, step := range d.Timeline {
		t.Rows = append(t.Rows, s.row(step))
	}
	if took, known := duration(d.RecoveryTime); known && !d.Drill.StartedAt.IsZero() {
		end := d.Drill.StartedAt.Add(took)
		whole := s.row(evidence.Step{Name: "The whole drill", StartedAt: d.Drill.StartedAt, EndedAt: &end})
		whole.Mark = mark{Word: "measured", Class: "whole"}
		t.Rows = append([]row{whole}, t.Rows...)
	}
	t.Ticks = s.ticks()
	return t
}

func spanOf(d drill) span {
	var from, to time.Time
	include := func(at time.Time) {
		if at.IsZero() {
			return
		}
		if from.IsZero() || at.Before(from) {
			from = at
		}
		if at.After(to) {
			to = at
		}
	}
	include(d.Drill.StartedAt)
	if took, known := duration(d.RecoveryTime); known && !d.Drill.StartedAt.IsZero() {
		include(d.Drill.StartedAt.Add(took))
	}
	for _, step := range d.Timeline {
		include(step.StartedAt)
		if step.EndedAt != nil {
			include(*step.EndedAt)
		}
	}
	return span{from: from, long: to.Sub(from)}
}

// row draws a step. One that has not ended goes on to the end of the timeline.
func (s span) row(step evidence.Step) row {
	r := row{Name: step.Name, Object: step.Object, Mark: markOf(step.Outcome), Took: "not known"}
	if step.StartedAt.IsZero() {
		r.When = "It is not known when it began."
		return r
	}
	began := step.StartedAt.Sub(s.from)
	r.X = min(percent(began, s.long), 100-minWidth)
	switch {
	case step.EndedAt == nil || step.EndedAt.IsZero():
		r.Width = 100 - r.X
		r.When = fmt.Sprintf("From %s on; no end is recorded.", brief(began))
	case step.EndedAt.Before(step.StartedAt):
		r.Width = minWidth
		r.When = fmt.Sprintf("It began at %s, and its recorded end is before that.", brief(began))
	default:
		took := step.EndedAt.Sub(step.StartedAt)
		r.Took, r.Width = brief(took), min(max(percent(took, s.long), minWidth), 100-r.X)
		r.When = fmt.Sprintf("From %s to %s.", brief(began), brief(step.EndedAt.Sub(s.from)))
	}
	return r
}

// ticks are at distances that are read easily, from the start on.
func (s span) ticks() []tick {
	ticks := []tick{{Text: "0s"}}
	distance := tickLengths[len(tickLengths)-1]
	distance *= s.long/(maxTicks*distance) + 1
	for _, length := range tickLengths {
		if s.long/length <= maxTicks {
			distance = length
			break
		}
	}
	for at := distance; at > 0 && at <= s.long && len(ticks) <= maxTicks; at += distance {
		ticks = append(ticks, tick{X: percent(at, s.long), Text: brief(at)})
	}
	return ticks
}
