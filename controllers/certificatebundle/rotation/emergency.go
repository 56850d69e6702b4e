package rotation

import (
	"fmt"
	"strconv"

	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

// skipOverlap goes to Completing at once where a person gave a reason and the provider confirmed it, and is whether it did.
func (p *planner) skipOverlap() bool {
	record := &p.plan.Record
	if p.Spec.EmergencyReason == "" || record.Emergency != "" || record.Next.Anchor == "" {
		return false
	}
	if record.RollingBack {
		p.notice(ReasonEmergencyRefused, "an emergency does not keep the former authority: remove spec.rotation.rollback to go forward")
		return false
	}
	generation := strconv.FormatInt(record.Next.Generation, 10)
	if p.Confirmation != generation {
		p.notice(ReasonEmergencyUnconfirmed, fmt.Sprintf("%s. The provider confirms it with %q; until then the rotation waits for every cluster", p.whatBreaks(), generation))
		return false
	}
	if !p.Listed {
		p.plan.NeedsList = true
		return false
	}
	record.Emergency, record.Issued = p.Spec.EmergencyReason, true
	p.notice(ReasonEmergency, p.whatBreaks())
	p.enter(Completing)
	p.plan.Again = p.Now
	return true
}

// whatBreaks says what an emergency does to whom.
func (p *planner) whatBreaks() string {
	var names []string
	for i := range p.members {
		if m := &p.members[i]; m.cluster != nil && m.cluster.Target != nil && !m.cluster.Leaving && !p.ownReady(m) {
			names = append(names, displayName(p.Namespace, m.key))
		}
	}
	text := "removing the old anchor at once breaks connections between clusters until both have the new one and workloads have loaded it"
	if len(names) > 0 {
		text += "; the new anchor is not loaded in " + describe(rollout.Count(names))
	}
	return text
}
