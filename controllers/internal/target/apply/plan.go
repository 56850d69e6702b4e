package apply

import (
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/times"
)

// Purpose of a write.
type Purpose string

// Purposes.
const (
	PurposeCreate  Purpose = "create"
	PurposeUpdate  Purpose = "update"
	PurposeCorrect Purpose = "correct"
)

// Write is one object to apply.
type Write struct {
	Object
	Purpose Purpose
	// Entry of the inventory; the zero entry for an object that is not in it.
	Entry Entry
	// Seen is what made a correction necessary.
	Seen *tracker.Seen
	// Actor is who did it.
	Actor Actor
	// tolerance is what others may set of it.
	tolerance managedfields.Tolerance
}

// conflict is an object that belongs to another target.
type conflict struct {
	objects.Ref
	Owner string
}

// Plan is what to do to a set of objects. The zero plan is to do nothing.
type Plan struct {
	// Begins: this is the first step towards what is not applied yet.
	Begins bool
	// Prerequisites are applied first, rest after them.
	Prerequisites, Rest []Write
	// Awaited are the definitions that must be established before rest is applied.
	Awaited []objects.Key
	// Removals are made when everything was applied, stage by stage.
	Removals []Removal
	// Refused are writes that the API server would not take, and that are not due for another try.
	Refused []Written
	// surroundings in which writes are refused, if they are.
	surroundings string
	// Conflicts are objects that another target declares.
	Conflicts []conflict
	// Replacing are objects that are being deleted, and are made anew when they are gone.
	Replacing []objects.Ref
	// Reported is drift that stays in place.
	Reported []Write
	// Held are corrections that wait, because somebody keeps changing the object.
	Held []Write
	// WakeAt is when a held or refused write is due; zero if none is.
	WakeAt time.Time
}

// NewPlan decides what to do so that the desired objects, and none but those, are in the cluster. It is pure.
func NewPlan(o Observation) Plan {
	p := Plan{surroundings: o.Surroundings()}
	for _, d := range o.Desired {
		p.place(o, d)
	}
	if !o.Suspended {
		p.Removals = PlanRemovals(o)
	}
	return p
}

// IsEmpty tells that nothing is to be written or removed.
func (p Plan) IsEmpty() bool { return len(p.Prerequisites)+len(p.Rest)+len(p.Removals) == 0 }

// place finds out what one declared object needs.
func (p *Plan) place(o Observation, d Object) {
	known, listed := o.Inventory[d.Key()]
	if holder, taken := o.Owners[d.Key()]; taken {
		if d.Implied {
			return // Another target sees to it.
		}
		p.Conflicts = append(p.Conflicts, conflict{Ref: d.Ref, Owner: holder})
		return
	}
	w := Write{Object: d, Entry: known, tolerance: o.Settings.Tolerance(o.RulesVersion, d.Ref, d.Environment)}
	state := o.States[d.Key()]
	gone, terminating := d.isReplaced(known, state)
	switch {
	case terminating:
		p.Replacing = append(p.Replacing, d.Ref)
		return
	case gone:
		w.Purpose, w.Seen = PurposeUpdate, state.Seen
	case !listed || known.Intended():
		w.Purpose = PurposeCreate
	case state.Drifted && o.corrects() && o.isOnlyNewlyAssessed(known, state):
		w.Purpose, w.Seen = PurposeUpdate, state.Seen
	case state.Drifted && o.Settings.Mode != Off:
		w.Purpose, w.Seen = PurposeCorrect, state.Seen
		w.Actor = Attribute(w.Seen, w.subject(), o.Rules)
	case o.isOutdated(d, known, state):
		w.Purpose = PurposeUpdate
	default:
		p.await(d, known, state.Seen)
		return
	}
	p.schedule(o, w)
}

// isOutdated: what is in the cluster is not what is declared, or was never compared with the rules as they are.
func (o Observation) isOutdated(d Object, known Entry, is ObjectState) bool {
	if known.Unwatched() {
		return known.Hash != d.Hash && !d.Implied
	}
	return known.Hash != d.Hash || known.Environment != d.Environment || o.corrects() && o.needsAssessment(is)
}

// schedule puts a write where it belongs.
func (p *Plan) schedule(o Observation, w Write) {
	if w.Purpose == PurposeCorrect && (o.Suspended || o.Settings.Mode == Report) {
		p.Reported = append(p.Reported, w)
		if o.Suspended || w.Entry.Hash == w.Hash {
			return
		}
	}
	if o.Suspended {
		return
	}
	if due := o.Contentions[w.Key()].Ready(); w.Purpose == PurposeCorrect && due.After(o.Now) {
		p.Held = append(p.Held, w)
		p.Wake(due)
		return
	}
	if refused := o.Refused[w.Key()]; refused.stands(w, o, p.surroundings) {
		p.Refused = append(p.Refused, Written{Write: w, Err: refused.Err, Claim: refused.claim})
		p.Wake(refused.Until)
		return
	}
	if w.Stage == prerequisites {
		p.Prerequisites = append(p.Prerequisites, w)
		if w.GroupKind() == objects.DefinitionKind {
			p.Awaited = append(p.Awaited, w.Key())
		}
		return
	}
	p.Rest = append(p.Rest, w)
}

// Wake asks for another look at a time, the earliest of several.
func (p *Plan) Wake(at time.Time) { p.WakeAt = times.Earliest(p.WakeAt, at) }

// await holds the rest back while a definition that needs no write is not established yet.
func (p *Plan) await(d Object, known Entry, seen *tracker.Seen) {
	if d.GroupKind() == objects.DefinitionKind && (!d.Implied || !known.Unwatched()) && (seen == nil || seen.Health.Status != status.CurrentStatus) {
		p.Awaited = append(p.Awaited, d.Key())
	}
}
