package addonrelease

import (
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
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

// plan is what to do. The zero plan is to do nothing.
type plan struct {
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
	// helm is what to do beside that, if the source is a chart.
	helm helmPlan
	// release removes the finalizer once the inventory is empty.
	release bool
}

// makePlan decides. It is pure.
func makePlan(o observed) plan {
	switch {
	case !o.release.DeletionTimestamp.IsZero():
		return planDeletion(o)
	case !o.reachable() || o.problem != nil || !o.desiredKnown:
		return plan{}
	}
	p := plan{helm: planHelm(o), surroundings: o.surroundings()}
	if key, ok := recordKey(o.release); ok && o.recordDrifted && o.fights[key].ready().After(o.now) {
		p.wake(o.fights[key].ready())
	}
	for _, d := range o.desired {
		p.place(o, d)
	}
	if !o.suspension.Active {
		p.removals = planRemovals(o)
	}
	return p
}

// begins is whether the plan is the first step towards what is not applied yet.
func (p plan) begins(o observed) bool {
	if !o.release.DeletionTimestamp.IsZero() || o.settled() || o.release.Status.Applying == o.inputs {
		return false
	}
	return len(p.foundations)+len(p.rest)+len(p.removals) > 0 || p.helm.operation != nil
}

// place finds out what one declared object needs.
func (p *plan) place(o observed, d desired) {
	known, listed := o.inventory[d.Key()]
	if holder, taken := o.holders[d.Key()]; taken {
		if d.implied {
			return // Another add-on sees to it.
		}
		p.conflicts = append(p.conflicts, conflict{Ref: d.Ref, holder: holder})
		return
	}
	w := write{desired: d, entry: known, tolerance: tolerance(o.release.Spec.Drift, o.rulesVersion, d.Ref, d.environment)}
	sighting := o.sightings[d.Key()]
	switch {
	case !listed || known.intended():
		w.purpose = create
	case sighting.drifted && o.corrects() && o.isOnlyNewlyAssessed(known, sighting):
		w.purpose, w.seen = update, sighting.seen
	case sighting.drifted && o.driftMode() != addonsv1alpha1.DriftOff:
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
func (o observed) isOutdated(d desired, known entry, is sighting) bool {
	if known.unwatched() {
		return known.hash != d.hash && !d.implied
	}
	return known.hash != d.hash || known.environment != d.environment || o.corrects() && o.needsAssessment(is)
}

// schedule puts a write where it belongs.
func (p *plan) schedule(o observed, w write) {
	if w.purpose == correct && (o.suspension.Active || o.driftMode() == addonsv1alpha1.DriftReport) {
		p.reported = append(p.reported, w)
		if o.suspension.Active || w.entry.hash == w.hash {
			return
		}
	}
	if o.suspension.Active {
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
func (p *plan) wake(at time.Time) {
	if p.wakeAt.IsZero() || at.Before(p.wakeAt) {
		p.wakeAt = at
	}
}

// await holds the rest back while a definition that needs no write is not established yet.
func (p *plan) await(d desired, known entry, seen *fleet.Seen) {
	if d.GroupKind() == objects.DefinitionKind && (!d.implied || !known.unwatched()) && (seen == nil || seen.Health.Status != status.CurrentStatus) {
		p.awaited = append(p.awaited, d.Key())
	}
}

// planDeletion removes everything, or lets go of it.
func planDeletion(o observed) plan {
	if o.isFreed() || len(o.inventory) == 0 && o.release.Status.Helm == nil {
		return plan{release: true}
	}
	if !o.reachable() || o.problem != nil || o.awaitsBackup() {
		return plan{}
	}
	p := plan{release: true}
	if !orphaned(o.release) {
		p.helm = planHelm(o)
	}
	o.desired = nil
	p.removals = planRemovals(o)
	return p
}
