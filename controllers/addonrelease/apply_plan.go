package addonrelease

import (
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// purpose of a write.
type purpose string

const (
	create  purpose = "create"
	update  purpose = "update"
	correct purpose = "correct"
)

// write is one object to apply.
type write struct {
	desired
	purpose purpose
	// entry of the inventory; the zero entry for an object that is not in it.
	entry entry
	// seen is what made a correction necessary.
	seen *fleet.Seen
	// culprit is who did it.
	culprit culprit
	// tolerance is what others may set of it.
	tolerance managedfields.Tolerance
}

// conflict is an object that belongs to another target.
type conflict struct {
	objects.Ref
	holder string
}

// objectsPlan is what to do to a set of objects. The zero plan is to do nothing.
type objectsPlan struct {
	// begins: this is the first step towards what is not applied yet.
	begins bool
	// foundations are applied first, rest after them.
	foundations, rest []write
	// awaited are the definitions that must be established before rest is applied.
	awaited []objects.Key
	// removals are made when everything was applied, stage by stage.
	removals []removal
	// refused are writes that the API server would not take, and that are not due for another try.
	refused []written
	// surroundings in which writes are refused, if they are.
	surroundings string
	// conflicts are objects that another target declares.
	conflicts []conflict
	// reported is drift that stays in place.
	reported []write
	// held are corrections that wait, because somebody keeps changing the object.
	held []write
	// wakeAt is when a held or refused write is due; zero if none is.
	wakeAt time.Time
}

// planObjects decides what to do so that the desired objects, and none but those, are in the cluster. It is pure.
func planObjects(o objectsObservation) objectsPlan {
	p := objectsPlan{surroundings: o.surroundings()}
	for _, d := range o.desired {
		p.place(o, d)
	}
	if !o.suspended {
		p.removals = planRemovals(o)
	}
	return p
}

// isEmpty: nothing is to be written or removed.
func (p objectsPlan) isEmpty() bool { return len(p.foundations)+len(p.rest)+len(p.removals) == 0 }

// place finds out what one declared object needs.
func (p *objectsPlan) place(o objectsObservation, d desired) {
	known, listed := o.inventory[d.Key()]
	if holder, taken := o.holders[d.Key()]; taken {
		if d.implied {
			return // Another target sees to it.
		}
		p.conflicts = append(p.conflicts, conflict{Ref: d.Ref, holder: holder})
		return
	}
	w := write{desired: d, entry: known, tolerance: o.settings.tolerance(o.rulesVersion, d.Ref, d.environment)}
	sighting := o.sightings[d.Key()]
	switch {
	case !listed || known.intended():
		w.purpose = create
	case sighting.drifted && o.corrects() && o.isOnlyNewlyAssessed(known, sighting):
		w.purpose, w.seen = update, sighting.seen
	case sighting.drifted && o.settings.mode != driftOff:
		w.purpose, w.seen = correct, sighting.seen
		w.culprit = blame(w.seen, w.subject(), o.rules)
	case o.isOutdated(d, known, sighting):
		w.purpose = update
	default:
		p.await(d, known, sighting.seen)
		return
	}
	p.schedule(o, w)
}

// isOutdated: what is in the cluster is not what is declared, or was never compared with the rules as they are.
func (o objectsObservation) isOutdated(d desired, known entry, is sighting) bool {
	if known.unwatched() {
		return known.hash != d.hash && !d.implied
	}
	return known.hash != d.hash || known.environment != d.environment || o.corrects() && o.needsAssessment(is)
}

// schedule puts a write where it belongs.
func (p *objectsPlan) schedule(o objectsObservation, w write) {
	if w.purpose == correct && (o.suspended || o.settings.mode == driftReport) {
		p.reported = append(p.reported, w)
		if o.suspended || w.entry.hash == w.hash {
			return
		}
	}
	if o.suspended {
		return
	}
	if due := o.fights[w.Key()].ready(); w.purpose == correct && due.After(o.now) {
		p.held = append(p.held, w)
		p.wake(due)
		return
	}
	if refused := o.refused[w.Key()]; refused.stands(w, o, p.surroundings) {
		p.refused = append(p.refused, written{write: w, err: refused.err, owner: refused.owner})
		p.wake(refused.until)
		return
	}
	if w.stage == foundations {
		p.foundations = append(p.foundations, w)
		if w.GroupKind() == objects.DefinitionKind {
			p.awaited = append(p.awaited, w.Key())
		}
		return
	}
	p.rest = append(p.rest, w)
}

// wake asks for another look at a time, the earliest of several.
func (p *objectsPlan) wake(at time.Time) {
	if p.wakeAt.IsZero() || at.Before(p.wakeAt) {
		p.wakeAt = at
	}
}

// await holds the rest back while a definition that needs no write is not established yet.
func (p *objectsPlan) await(d desired, known entry, seen *fleet.Seen) {
	if d.GroupKind() == objects.DefinitionKind && (!d.implied || !known.unwatched()) && (seen == nil || seen.Health.Status != status.CurrentStatus) {
		p.awaited = append(p.awaited, d.Key())
	}
}
