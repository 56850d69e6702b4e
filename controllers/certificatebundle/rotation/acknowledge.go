package rotation

import "time"

// finding is what a cluster is waited for. The zero value is nothing.
type finding struct {
	reason string
	// until is when that alone ends by itself; zero if it does not.
	until time.Time
}

// bothAnchors is the hash that every cluster acknowledges before leaves change.
func (p *planner) bothAnchors() string {
	if pair := [2]string{p.plan.Record.Current.Anchor, p.plan.Record.Next.Anchor}; p.hashed != pair {
		p.hashed, p.bothHash = pair, AnchorHash(pair[:]...)
	}
	return p.bothHash
}

// free is whether nobody waits for the cluster: a person excluded it, or it has no target.
func (m *member) free() bool { return m.excluded || m.gone }

// missing is whether its target is not in the list, and not known to be gone either.
func (m *member) missing() bool { return m.cluster == nil || m.cluster.Target == nil }

// isNew is whether the cluster never had anything but both anchors: nothing else was told, and nothing else reported.
func (p *planner) isNew(m *member) bool {
	reported := m.cluster.Target.Acknowledged
	return p.toldNoLeaf(m) && !m.otherCluster() && (reported.AnchorHash == p.bothAnchors() || reported.ClusterUID == "" || reported.TrustSince.IsZero())
}

// toldNoLeaf is whether the target was told both anchors before anything else, and no leaf yet.
func (p *planner) toldNoLeaf(m *member) bool {
	told := m.cluster.Target.Told
	return told.Issuer == 0 && told.AnchorHash == p.bothAnchors()
}

// otherCluster is whether the last report is of another cluster than the one that is admitted.
func (m *member) otherCluster() bool {
	reported := m.cluster.Target.Acknowledged.ClusterUID
	return reported != "" && reported != m.cluster.ID
}

// awaitTrust is what is missing until the cluster trusts both anchors for certain.
func (p *planner) awaitTrust(m *member) finding {
	switch {
	case p.plan.Record.Next.Anchor == "" || m.free():
		return finding{}
	case m.missing():
		return finding{reason: ReasonMissing}
	case m.cluster.Leaving || p.isNew(m):
		return finding{}
	}
	return p.awaitBundle(m, p.bothAnchors())
}

// awaitBundle is what is missing until the cluster acknowledged a bundle and loaded it.
func (p *planner) awaitBundle(m *member, hash string) finding {
	if found := p.awaitAnswer(m); found.reason != "" {
		return found
	}
	if m.cluster.Target.Told.AnchorHash != hash {
		return p.untold(m)
	}
	if !m.cluster.Target.current(p.PolicyUID) {
		return finding{reason: ReasonNotAcknowledged}
	}
	return p.bundleDiffers(m, hash)
}

// awaitAnswer is what is missing until the cluster answers.
func (p *planner) awaitAnswer(m *member) finding {
	if !m.cluster.Reachable {
		return finding{reason: ReasonUnreachable}
	}
	return finding{}
}

// untold is why a cluster was not told what it should be told.
func (p *planner) untold(m *member) finding {
	if !m.cluster.Selected {
		return finding{reason: ReasonWithdrawalHeld}
	}
	return finding{reason: ReasonNotTold}
}

// bundleDiffers is what differs, as far as the last report tells, or is not loaded yet.
func (p *planner) bundleDiffers(m *member, hash string) finding {
	reported := m.cluster.Target.Acknowledged
	switch {
	case reported.ClusterUID == "" || reported.ClusterUID != m.cluster.ID:
		return finding{reason: ReasonOtherCluster}
	case reported.AnchorHash != hash || reported.TrustSince.IsZero():
		return finding{reason: ReasonTrustDiffers}
	case reported.ReloadComplete:
		return finding{}
	}
	if loaded := reported.TrustSince.Add(trustPropagation(&p.Spec)); loaded.After(p.Now) {
		return finding{reason: ReasonPropagating, until: loaded}
	}
	return finding{}
}

// trustLost is why a cluster does not trust both anchors any more, as far as its last report tells. A report of a former
// generation counts: while both anchors are told, nothing else is.
func (p *planner) trustLost(m *member) finding {
	switch {
	case m.free() || m.missing() || m.cluster.Leaving || p.isNew(m):
		return finding{}
	case m.cluster.Target.Told.AnchorHash != p.bothAnchors():
		return p.untold(m)
	}
	return p.bundleDiffers(m, p.bothAnchors())
}

// ownReady is whether the cluster acknowledged what it was told to trust, and loaded it. It is asked again when it may have loaded it.
func (p *planner) ownReady(m *member) bool {
	target := m.cluster.Target
	if target == nil || !target.current(p.PolicyUID) || target.Told.AnchorHash != p.bothAnchors() {
		return false
	}
	found := p.bundleDiffers(m, p.bothAnchors())
	p.again(found.until)
	return found.reason == ""
}

// differs is whether something else was seen in the cluster than it was told, and is not put right yet. Then it may be anything.
func (m *member) differs() bool {
	reported := m.cluster.Target.Acknowledged
	return reported.ClusterUID != "" && reported.AnchorHash == ""
}
