package pace

import (
	"testing"
	"time"
)

var start = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

// 10,000 changes of one key in 50 seconds are acted on eleven times, the last time after the last of them.
func TestManyChangesAreActedOnOnceInTheInterval(t *testing.T) {
	p := &Pace[string]{Interval: Interval}
	due := map[time.Time]bool{}
	now, last := start, start
	for range 10_000 {
		now = now.Add(5 * time.Millisecond)
		last = now.Add(p.Wait("a", now))
		due[last] = true
	}
	if len(due) < 10 || len(due) > 11 {
		t.Errorf("acted on %d times in %s", len(due), now.Sub(start))
	}
	if last.Before(now) || last.After(now.Add(Interval)) {
		t.Errorf("the last change, at %s, is acted on at %s", now, last)
	}
}

func TestAChangeAfterAWhileIsActedOnAtOnce(t *testing.T) {
	p := &Pace[string]{Interval: Interval}
	for _, now := range []time.Time{start, start.Add(Interval), start.Add(time.Hour)} {
		if wait := p.Wait("a", now); wait != 0 {
			t.Errorf("at %s it waits for %s", now, wait)
		}
	}
}

func TestOneKeyHoldsUpNoOther(t *testing.T) {
	p := &Pace[string]{Interval: Interval}
	for range 100 {
		p.Wait("a", start)
	}
	if wait := p.Wait("b", start); wait != 0 {
		t.Errorf("another one waits for %s", wait)
	}
}

func TestAClockThatIsSetBackHoldsNothingUpForLong(t *testing.T) {
	p := &Pace[string]{Interval: Interval}
	p.Wait("a", start)
	if wait := p.Wait("a", start.Add(-time.Hour)); wait > Interval {
		t.Errorf("it waits for %s", wait)
	}
}

func TestWithoutAnIntervalNothingWaits(t *testing.T) {
	p := &Pace[string]{}
	for range 3 {
		if wait := p.Wait("a", start); wait != 0 {
			t.Errorf("it waits for %s", wait)
		}
	}
}
