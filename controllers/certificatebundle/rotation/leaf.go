package rotation

import (
	"slices"
	"time"

	"github.com/daytwo-dev/daytwo/controllers/internal/times"
)

// awaitLeaf is what is missing until the cluster's leaf is from the other authority.
func (p *planner) awaitLeaf(m *member) finding {
	switch {
	case nothingIssued(&p.plan.Record) || m.free():
		return finding{}
	case m.missing():
		return finding{reason: ReasonMissing}
	case m.cluster.Leaving || p.isNew(m):
		return finding{}
	}
	return p.awaitIssuer(m)
}

// awaitIssuer is what is missing until the cluster acknowledged a leaf of the arriving authority.
func (p *planner) awaitIssuer(m *member) finding {
	if found := p.awaitAnswer(m); found.reason != "" {
		return found
	}
	target, issuer := m.cluster.Target, arriving(&p.plan.Record).Generation
	switch {
	case target.Told.Issuer != issuer && !m.cluster.Selected:
		return finding{reason: ReasonWithdrawalHeld}
	case target.Told.Issuer != issuer:
		return finding{reason: ReasonNotSwitched}
	case !target.current(p.PolicyUID):
		return finding{reason: ReasonNotAcknowledged}
	case target.Acknowledged.ClusterUID == "" || target.Acknowledged.ClusterUID != m.cluster.ID:
		return finding{reason: ReasonOtherCluster}
	case target.Acknowledged.Issuer != issuer:
		return finding{reason: ReasonNotSwitched}
	}
	return finding{}
}

// awaitOverlap is what is missing until the cluster cannot serve a leaf of the leaving authority any more.
func (p *planner) awaitOverlap(m *member) finding {
	switch {
	case nothingIssued(&p.plan.Record) || m.free():
		return finding{}
	case m.missing():
		return finding{reason: ReasonMissing}
	case m.cluster.Leaving:
		return finding{reason: ReasonLeaving}
	case !p.isNew(m):
		if found := p.awaitIssuer(m); found.reason != "" {
			return found
		}
	}
	return p.mayServeLeaving(m)
}

// mayServeLeaving is why the cluster may still serve a leaf of the leaving authority, as far as its last report tells.
func (p *planner) mayServeLeaving(m *member) finding {
	if m.free() || m.missing() {
		return finding{}
	}
	reported := m.cluster.Target.Acknowledged
	switch {
	case m.otherCluster():
		return finding{reason: ReasonOtherCluster}
	case reported.Issuer != 0 && m.differs():
		return finding{reason: ReasonNotSwitched}
	case reported.Issuer != 0 && reported.Issuer == leaving(&p.plan.Record).Generation:
		return finding{reason: ReasonNotSwitched}
	}
	if reported.ReplacedAt.IsZero() {
		return finding{}
	}
	if end := reported.ReplacedAt.Add(minOverlap(&p.Spec)); end.After(p.Now) {
		return finding{reason: ReasonOverlap, until: end}
	}
	return finding{}
}

// leafLost is why the cluster serves another leaf than the arriving authority's again.
func (p *planner) leafLost(m *member) finding {
	switch {
	case m.free() || m.missing() || m.cluster.Leaving || p.isNew(m):
		return finding{}
	case m.cluster.Target.Told.Issuer != arriving(&p.plan.Record).Generation:
		return finding{reason: ReasonNotSwitched}
	}
	reported := m.cluster.Target.Acknowledged
	if reported.Issuer != 0 && (reported.Issuer != arriving(&p.plan.Record).Generation || m.differs()) {
		return finding{reason: ReasonNotSwitched}
	}
	return finding{}
}

// awaitRemoval is what is missing until the cluster trusts the arriving authority alone, and has its leaf from it.
func (p *planner) awaitRemoval(m *member) finding {
	switch {
	case m.free():
		return finding{}
	case m.missing():
		return finding{reason: ReasonMissing}
	case m.cluster.Leaving:
		return finding{}
	}
	if found := p.awaitAnswer(m); found.reason != "" {
		return found
	}
	hash := only(arriving(&p.plan.Record)).AnchorHash
	target := m.cluster.Target
	switch {
	case target.Told.AnchorHash != hash:
		return p.notRemoved(m)
	case !target.current(p.PolicyUID):
		return finding{reason: ReasonNotAcknowledged}
	}
	if found := p.bundleDiffers(m, hash); found.reason != "" && found.reason != ReasonPropagating {
		return found
	}
	return p.awaitIssuer(m)
}

// notRemoved is why a cluster still trusts the old anchor.
func (p *planner) notRemoved(m *member) finding {
	if found := p.mayServeLeaving(m); found.reason != "" {
		return found
	}
	return p.untold(m)
}

// removalHeld is whether some cluster may still serve a leaf of the leaving authority, and until when that is so at least.
func (p *planner) removalHeld() (held bool) {
	if p.plan.Record.Emergency != "" || nothingIssued(&p.plan.Record) {
		return false
	}
	var first time.Time
	held = slices.ContainsFunc(p.members, func(m member) bool {
		found := p.mayServeLeaving(&m)
		first = times.Earliest(first, found.until)
		return found.reason != ""
	})
	p.again(first)
	return held
}
