package controllers

import "strings"

// lifePhase is something in the life of an object that a manager is killed in.
type lifePhase struct {
	name string
	// act is what people do to the object of that name.
	act func(name string)
	// undone says why what follows from that is not over; empty if it is.
	undone func(name string) string
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
		end := ""
		w.await(func() string {
			if why := undone(); why != "" {
				return phase.name + ": " + why
			}
			end = strings.ReplaceAll(describe(name), name, "NAME")
			return endsOtherwise(end, wanted)
		})
		ends = append(ends, end)
	}
	return ends, blew
}
