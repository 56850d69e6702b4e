package rotation

import "fmt"

// advance goes to the next phase, or back to a former one.
func (p *planner) advance() {
	p.retire()
	p.tellWhatWaits()
	if p.changeDirection() || p.skipOverlap() || p.reopen() {
		return
	}
	switch p.plan.Record.Phase {
	case Idle:
		p.start()
	case Preparing:
		p.step(Prepared, p.awaitTrust)
	case Prepared:
		p.step(Switching, p.awaitTrust)
	case Switching:
		p.step(Switched, p.awaitLeaf)
	case Switched:
		p.step(Completing, p.awaitOverlap)
	case Completing:
		p.step(Idle, p.awaitRemoval)
	}
}

// step enters a phase if nobody is waited for, and the list is one to rely on.
func (p *planner) step(next Phase, await func(m *member) finding) {
	for i := range p.members {
		p.await(&p.members[i], await(&p.members[i]))
	}
	switch {
	case p.isWaiting():
	case !p.Listed:
		p.plan.NeedsList = true
	case next == Idle:
		p.end()
	default:
		p.plan.Record.Issued = p.plan.Record.Issued || next == Switching
		p.plan.Record.Adopted = false // Every cluster trusts both anchors from Prepared on.
		p.enter(next)
	}
}

// reopen goes back to the phase whose result is lost in some cluster. It is on the safe side, and needs no list.
func (p *planner) reopen() bool {
	record := &p.plan.Record
	switch record.Phase {
	case Prepared, Switching, Switched:
	default:
		return false
	}
	if !record.RollingBack && p.awaitAll(p.trustLost) {
		p.enter(Preparing)
		return true
	}
	if record.Phase == Switched && !nothingIssued(record) && p.awaitAll(p.leafLost) {
		p.enter(Switching)
		return true
	}
	return false
}

// awaitAll is whether a cluster is waited for, which is told then.
func (p *planner) awaitAll(find func(m *member) finding) (any bool) {
	for i := range p.members {
		if found := find(&p.members[i]); found.reason != "" {
			p.await(&p.members[i], found)
			any = true
		}
	}
	return any
}

// tellWhatWaits tells a person that what was asked for meanwhile comes later.
func (p *planner) tellWhatWaits() {
	record := &p.plan.Record
	if active(record) && p.Spec.CA != "" && p.Spec.CA != record.Token {
		p.notice(ReasonRotationUnderway, fmt.Sprintf("the rotation %q starts when the one to authority %d has ended", p.Spec.CA, record.Next.Generation))
	}
}
