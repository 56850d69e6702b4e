package rotation

import (
	"fmt"
	"slices"

	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

// authority that exists; nil if it does not.
func (p *planner) authority(generation int64) *Authority {
	at := slices.IndexFunc(p.Authorities, func(a Authority) bool { return a.Generation == generation })
	if at < 0 {
		return nil
	}
	return &p.Authorities[at]
}

// authoritiesUsable asks for authorities that are to be made, remembers their anchors, and is whether those needed are there, and
// are those that clusters were told.
func (p *planner) authoritiesUsable() bool {
	record := &p.plan.Record
	if !p.authorityUsable(&record.Current) {
		return false
	}
	if record.Next.Generation == 0 || nothingIssued(record) && record.Next.Anchor == "" {
		return true
	}
	if record.Next.Anchor != "" {
		// Before there is any leaf of the next authority, the way back does not need it.
		goesBack := record.RollingBack || p.Spec.Rollback == record.Next.Generation
		return p.authorityUsable(&record.Next) || goesBack && !record.Issued
	}
	p.authorityUsable(&record.Next) // Until it is made, clusters stay as they are.
	return true
}

func (p *planner) authorityUsable(wanted *Reference) bool {
	found := p.authority(wanted.Generation)
	switch {
	case found == nil && wanted.Anchor == "":
		p.plan.MakeAuthority = wanted.Generation
		p.wait(ReasonAuthorityPending, fmt.Sprintf("waiting until authority %d is made", wanted.Generation))
		return false
	case found == nil:
		p.notice(ReasonAuthorityLost, fmt.Sprintf(
			"authority %d is not there, and clusters may depend on it: nothing changes until it is restored from a backup%s", wanted.Generation, p.orGoBack(wanted)))
		return false
	case wanted.Anchor != "" && wanted.Anchor != found.Anchor:
		p.notice(ReasonAuthorityChanged, fmt.Sprintf(
			"authority %d has another certificate than clusters were told: nothing changes until the former one is restored from a backup", wanted.Generation))
		return false
	}
	wanted.Anchor = found.Anchor
	return true
}

// orGoBack is what can be done beside that; empty for nothing.
func (p *planner) orGoBack(lost *Reference) string {
	record := &p.plan.Record
	if lost.Generation != record.Next.Generation || record.Issued {
		return ""
	}
	return fmt.Sprintf(", or the rotation is rolled back with spec.rotation.rollback: %d", lost.Generation)
}

// hold leaves every cluster as it is, since it is not known what to tell it.
func (p *planner) hold() {
	p.plan.Held = true
	p.plan.Gates = []rollout.Gate{{
		Reason: ReasonRotationHeld, Message: "waiting for the certificate authority", Blocks: rollout.Create | rollout.Update, KeepsSlot: true,
	}}
	for i := range p.Clusters {
		if one := &p.Clusters[i]; one.Target != nil && !one.Leaving {
			p.plan.Wants = append(p.plan.Wants, Want{one.ClusterKey, one.Target.Told})
		}
	}
}

// retire lists authorities that nothing needs any more.
func (p *planner) retire() {
	for _, authority := range p.Authorities {
		if authority.Generation != p.plan.Record.Current.Generation && authority.Generation != p.plan.Record.Next.Generation {
			p.plan.Retired = append(p.plan.Retired, authority.Generation)
		}
	}
	slices.Sort(p.plan.Retired)
}
