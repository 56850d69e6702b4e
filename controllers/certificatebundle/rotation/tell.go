package rotation

// tell says for each cluster what it is to be told.
func (p *planner) tell() {
	decide := p.teller()
	for i := range p.members {
		m := &p.members[i]
		if m.cluster == nil || m.cluster.Leaving || m.cluster.Target == nil && !m.cluster.Selected {
			continue
		}
		p.plan.Wants = append(p.plan.Wants, Want{m.key, decide(m)})
	}
}

// teller is the rule of the phase.
func (p *planner) teller() func(m *member) Told {
	record := &p.plan.Record
	switch {
	case record.Phase == Completing && !p.removalHeld():
		told := only(arriving(record))
		return func(*member) Told { return told }
	case record.Phase == Completing:
		return p.tellHeldRemoval
	case record.Next.Anchor == "":
		current := only(record.Current)
		return func(*member) Told { return current }
	case record.RollingBack:
		return p.tellBack
	case (record.Phase == Switching || record.Phase == Switched) && !p.awaitAll(p.mayDistrust):
		return p.tellSwitch
	}
	return p.tellBoth
}

// only is told with the anchor of one authority, which issues the leaf too.
func only(authority Reference) Told {
	return Told{Trust: []int64{authority.Generation}, AnchorHash: AnchorHash(authority.Anchor), Issuer: authority.Generation}
}

// both is told with both anchors.
func (p *planner) both(issuer int64) Told {
	current, next := p.plan.Record.Current.Generation, p.plan.Record.Next.Generation
	return Told{Trust: []int64{current, next}, AnchorHash: p.bothAnchors(), Issuer: issuer}
}

// mayDistrust is why a cluster may not trust a leaf of the next authority, as far as is known.
func (p *planner) mayDistrust(m *member) finding {
	if !m.free() && m.missing() {
		return finding{reason: ReasonMissing}
	}
	return p.trustLost(m)
}

// tellBoth tells both anchors. A leaf stays with its authority. A new cluster gets one of the current authority when it
// has loaded the anchors, unless leaves are issued from the next one already: then it waits for that.
func (p *planner) tellBoth(m *member) Told {
	record := &p.plan.Record
	switch {
	case p.withoutLeaf(m) || record.Issued && p.toldNoLeaf(m):
		return p.both(0)
	case m.cluster.Target.Told.Issuer == record.Next.Generation:
		return p.both(record.Next.Generation)
	}
	return p.both(record.Current.Generation)
}

// tellSwitch tells clusters that have loaded both anchors to take their leaf from the next authority.
func (p *planner) tellSwitch(m *member) Told {
	if p.ownReady(m) {
		return p.both(p.plan.Record.Next.Generation)
	}
	return p.tellBoth(m)
}

// tellBack tells clusters to take their leaf from the current authority again.
func (p *planner) tellBack(m *member) Told {
	current := p.plan.Record.Current
	onlyCurrent := only(current)
	switch {
	case nothingIssued(&p.plan.Record) && m.cluster.Target != nil && m.cluster.Target.Told.Equal(onlyCurrent):
		return onlyCurrent
	case p.withoutLeaf(m):
		return p.both(0)
	}
	return p.both(current.Generation)
}

// tellHeldRemoval leaves the anchors as they are, since some cluster serves a leaf of the old authority again.
func (p *planner) tellHeldRemoval(m *member) Told {
	alone := only(arriving(&p.plan.Record))
	switch {
	case m.cluster.Target != nil && m.cluster.Target.Told.AnchorHash == alone.AnchorHash:
		return alone
	case p.withoutLeaf(m):
		return p.both(0)
	}
	return p.both(alone.Issuer)
}

// withoutLeaf is whether the cluster is new, and has not loaded both anchors yet.
func (p *planner) withoutLeaf(m *member) bool {
	return m.cluster.Target == nil || p.toldNoLeaf(m) && !p.ownReady(m)
}
