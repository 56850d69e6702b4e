package controllers

import (
	"fmt"
	"strings"
	"testing"
)

// lifePhase is something in the life of an object that a manager is killed in.
type lifePhase struct {
	name string
	// act is what people do to the object of that name.
	act func(name string)
	// undone says why what follows from that is not over; empty if it is.
	undone func(name string) string
}

// liveAll lets lives go through phases, the first one undisturbed.
func (w *crashEnv) liveAll(t *testing.T, every int, describe func(name string) string, phases []lifePhase) {
	t.Helper()
	undisturbed, _ := w.live("undisturbed", forever, phases, describe, nil)
	for i, phase := range phases {
		t.Logf("undisturbed, the %s ends so:\n%s", phase.name, undisturbed[i])
	}
	killAfterEach(t, "", 0, every, func(t *testing.T, last int) bool {
		w.t = t
		_, blew := w.live(fmt.Sprintf("after-%d", last), last, phases, describe, undisturbed)
		return blew
	})
	w.t = t
}

// live lets one write of each phase be the last. It returns how each phase ends, by the description of the object, which must be
// as wanted unless that is nil, and whether there was such a write in any of them.
func (w *crashEnv) live(name string, last int, phases []lifePhase, describe func(name string) string, want []string) (ends []string, blew bool) {
	w.t.Helper()
	for i, phase := range phases {
		undone := func() string { return phase.undone(name) }
		blown := w.failpoint.arm(last)
		phase.act(name)
		if last != forever && w.blows(blown, undone) {
			blew = true
			w.end()
			w.restarted()
		}
		wanted := ""
		if want != nil {
			wanted = want[i]
		}
		end, resting := "", &restPeriod{}
		w.await(func() string {
			if why := undone(); why != "" {
				resting.end()
				return phase.name + ": " + why
			}
			end = strings.ReplaceAll(describe(name), name, "NAME")
			if why := endsOtherwise(end, wanted); why != "" || last != forever {
				return why
			}
			return resting.isTooShort(w.rest, w.failpoint.passed(), end)
		})
		ends = append(ends, end)
	}
	return ends, blew
}

// overtake lets one write of a phase be the last, and the next phase begin before the next manager starts. It returns whether there
// was such a write; the phases follow each other if not.
func (w *crashEnv) overtake(name string, last int, first, second lifePhase) bool {
	w.t.Helper()
	blown := w.failpoint.arm(last)
	first.act(name)
	blew := w.blows(blown, func() string { return first.undone(name) })
	if blew {
		w.end()
	}
	second.act(name)
	if blew {
		w.restarted()
	}
	w.await(func() string { return second.undone(name) })
	return blew
}

// restPeriod is for how long nothing has changed.
type restPeriod struct {
	times  int
	writes int64
	as     string
}

func (r *restPeriod) end() { r.times = 0 }

// isTooShort takes note of how many writes there were, and of a description. It says why that was not the same often enough.
func (r *restPeriod) isTooShort(times int, writes int64, as string) string {
	if r.times == 0 || r.writes != writes || r.as != as {
		*r = restPeriod{writes: writes, as: as}
	}
	if r.times++; r.times < times {
		return fmt.Sprintf("not at rest yet: %d writes and\n%s", writes, as)
	}
	return ""
}
