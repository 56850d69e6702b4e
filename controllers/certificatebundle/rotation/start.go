package rotation

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daytwo-dev/daytwo/controllers/internal/times"
)

// recordUsable is whether it is known where the rotation is. Without a record, what targets were told says it.
func (p *planner) recordUsable() bool {
	switch {
	case active(&p.Record) && p.membersLost() && !p.Listed:
		p.plan.NeedsList = true
		return false
	case p.Record.Phase != "":
		return true
	case !p.Listed:
		p.plan.NeedsList = true
		return false
	}
	return p.adopt()
}

// adopt makes a record of what targets were told: two authorities are a rotation whose direction nobody knows, and which goes
// forward. It is whether the authorities that they were told are there.
func (p *planner) adopt() bool {
	all := p.toldGenerations()
	told := slices.DeleteFunc(slices.Clone(all), func(generation int64) bool { return p.authority(generation) == nil })
	if len(told) == 0 && len(all) > 0 {
		p.notice(ReasonAuthorityLost, fmt.Sprintf(
			"authority %d is not there, and clusters may depend on it: nothing changes until it is restored from a backup, or the deliveries that name it are deleted", all[len(all)-1]))
		return false
	}
	record := Record{Token: p.Spec.CA, Since: metav1.NewTime(p.Now)}
	switch len(told) {
	case 0:
		record.Phase, record.Current.Generation = Idle, max(p.lastGeneration(), 1)
	case 1:
		record.Phase, record.Current.Generation = Idle, told[0]
	default:
		record.Phase, record.Issued, record.Adopted = Preparing, true, true
		record.Current.Generation, record.Next.Generation = told[len(told)-2], told[len(told)-1]
		p.notice(ReasonRecordLost, fmt.Sprintf("the record of the rotation is lost: it goes on with what clusters were told, from authority %d to %d",
			record.Current.Generation, record.Next.Generation))
	}
	record.LastGeneration = max(record.Current.Generation, record.Next.Generation, p.lastGeneration())
	if len(all) > 0 {
		record.LastGeneration = max(record.LastGeneration, all[len(all)-1])
	}
	p.plan.Record = record
	if active(&record) {
		p.plan.Membership = Membership{}.with(p.present())
		p.mergeMembers()
	}
	return true
}

// toldGenerations are the authorities that targets name, in ascending order.
func (p *planner) toldGenerations() (generations []int64) {
	for i := range p.Clusters {
		if target := p.Clusters[i].Target; target != nil {
			generations = append(generations, target.Told.Trust...)
			if target.Told.Issuer != 0 {
				generations = append(generations, target.Told.Issuer)
			}
		}
	}
	slices.Sort(generations)
	return slices.Compact(generations)
}

// lastGeneration is the highest one that is known.
func (p *planner) lastGeneration() int64 {
	last := p.plan.Record.LastGeneration
	for _, authority := range p.Authorities {
		last = max(last, authority.Generation)
	}
	return last
}

// start begins a rotation if one is due.
func (p *planner) start() {
	record := &p.plan.Record
	due := p.dueByAge()
	p.again(due)
	tokenChanged := p.Spec.CA != "" && p.Spec.CA != record.Token
	if !tokenChanged && (due.IsZero() || due.After(p.Now)) {
		return
	}
	if !p.Listed {
		p.plan.NeedsList = true
		return
	}
	members := Membership{}.with(p.present())
	if !members.Fits() {
		p.notice(ReasonTooManyClusters, fmt.Sprintf(
			"the rotation does not start: the names of %d clusters take more than %d bytes; divide them among several policies", members.Len(), MaxMembershipBytes))
		return
	}
	if p.Spec.CA != "" {
		record.Token = p.Spec.CA
	}
	record.LastGeneration = p.lastGeneration() + 1
	record.Next = Reference{Generation: record.LastGeneration}
	record.RollingBack, record.Issued, record.Emergency = false, false, ""
	p.plan.Membership = members
	p.mergeMembers()
	p.enter(Preparing)
}

// dueByAge is when the current authority is too old; zero for never. After a rollback the age counts from its end.
func (p *planner) dueByAge() time.Time {
	age := p.Spec.Age.Duration
	current := p.authority(p.plan.Record.Current.Generation)
	if age <= 0 || current == nil {
		return time.Time{}
	}
	from := current.CreatedAt
	if p.plan.Record.RollingBack {
		from = times.Latest(from, p.plan.Record.Since.Time)
	}
	return from.Add(age)
}

// end is Idle with the authority that is left.
func (p *planner) end() {
	record := p.plan.Record
	p.plan.Record = Record{
		Phase: record.Phase, Since: record.Since, Token: record.Token, Current: arriving(&record),
		RollingBack: record.RollingBack, LastGeneration: record.LastGeneration,
	}
	p.enter(Idle)
	p.plan.Membership = Membership{}
}
