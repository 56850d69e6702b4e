package rotation

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
	"github.com/daytwo-dev/daytwo/controllers/internal/times"
)

// Plan is what to do now. doc.go says in which order.
type Plan struct {
	// Membership to store under the hash of Record.Members, before Record is written.
	Membership Membership
	// Record to write, if it differs from the one that was read, before a target changes.
	Record Record
	// MakeAuthority is the generation of an authority to make; 0 for none. Making it twice makes it once.
	MakeAuthority int64
	// Wants are what clusters are to be told, in the order of their keys: all but those that are leaving. What a target tells
	// already is among it. For a target of a cluster that is not selected any more, it is written like a setting.
	Wants []Want
	// Retired are generations of authorities that nothing needs any more, in ascending order.
	Retired []int64
	// Blocked is what the next step waits for, one for each reason, those of the most clusters first.
	Blocked []Blocker
	// Notices are what else a person should know, above all what was asked for and is not done.
	Notices []Notice
	// Gates hold back changes in all clusters, while it is not known what to tell them.
	Gates []rollout.Gate
	// Held: it is not known what to tell clusters, and Gates hold back all changes.
	Held bool
	// Urgent changes should not wait for gates such as maintenance windows: an emergency.
	Urgent bool
	// NeedsList: with a list of clusters and targets read past the cache, there may be more to do.
	NeedsList bool
	// LookUp are members whose target the list does not show, to be read by name past the cache.
	LookUp []rollout.ClusterKey
	// Again is when the plan may differ though nothing changes; zero for never, Now for a step that follows this one.
	Again time.Time
}

// Want is what a cluster is to be told.
type Want struct {
	Cluster rollout.ClusterKey
	Told    Told
}

// For is what a cluster is to be told; false if nothing, or nothing new.
func (p *Plan) For(key rollout.ClusterKey) (Told, bool) {
	at, found := slices.BinarySearchFunc(p.Wants, key, func(want Want, key rollout.ClusterKey) int { return want.Cluster.Compare(key) })
	if !found {
		return Told{}, false
	}
	return p.Wants[at].Told, true
}

// PlanRotation plans the next step. The same input gives the same plan, whatever the order of clusters, authorities and Gone. It goes
// one phase at a time: what a new record allows is part of the same plan, what follows it is not.
func PlanRotation(input Input) Plan {
	p := newPlanner(input)
	p.trackMembers()
	if p.recordUsable() && p.authoritiesUsable() {
		p.advance()
		p.tell()
	} else {
		p.hold()
	}
	p.finish()
	return p.plan
}

// planner is a plan in the making.
type planner struct {
	Input
	plan    Plan
	members []member
	// awaited are the clusters that the next step waits for, by what it waits for.
	awaited map[string]*awaited
	// hashed are the anchors of bothHash.
	hashed   [2]string
	bothHash string
}

// member is a cluster that takes part, or that is here.
type member struct {
	key rollout.ClusterKey
	// cluster is nil if the list does not show it.
	cluster *Cluster
	// gone: it is known to have no target.
	gone     bool
	excluded bool
}

func newPlanner(input Input) *planner {
	input.Clusters = slices.Clone(input.Clusters)
	slices.SortFunc(input.Clusters, func(a, b Cluster) int { return a.Compare(b.ClusterKey) })
	return &planner{Input: input, plan: Plan{Record: input.Record, Membership: input.Membership}, awaited: map[string]*awaited{}}
}

// trackMembers lets the membership grow by what is here, and marks what is gone. Between rotations nobody is a member.
func (p *planner) trackMembers() {
	if !active(&p.Record) {
		p.plan.Membership = Membership{}
		p.mergeMembers()
		return
	}
	if p.membersLost() {
		p.rebuildMembership()
	}
	grown := p.plan.Membership.with(p.present()).without(p.withoutTarget())
	if grown.Fits() {
		p.plan.Membership = grown
	} else {
		p.refuseClusters()
	}
	p.mergeMembers()
}

// membersLost is whether the membership that was given is not the one of the record.
func (p *planner) membersLost() bool { return p.Membership.Reference() != p.Record.Members }

// refuseClusters lets no cluster join that could not be remembered.
func (p *planner) refuseClusters() {
	message := fmt.Sprintf("no cluster joins until the rotation has ended: the names of %d take up to %d bytes", p.plan.Membership.Len(), MaxMembershipBytes)
	p.notice(ReasonTooManyClusters, message)
	p.plan.Gates = []rollout.Gate{{Reason: ReasonTooManyClusters, Message: message, Blocks: rollout.Create, KeepsSlot: true}}
}

// rebuildMembership begins the phase again with those that are here, since nobody knows who took part.
func (p *planner) rebuildMembership() {
	p.plan.Membership = Membership{}
	p.notice(ReasonMembersLost, "the list of the clusters that take part is lost: it is made again, and every acknowledgement is checked again")
	if !p.Listed {
		p.plan.NeedsList = true
		return
	}
	if p.plan.Record.Phase != Completing && !p.plan.Record.RollingBack {
		p.enter(Preparing)
	}
}

// present are the clusters that have a target, and those that join: they are not known to have none.
func (p *planner) present() []rollout.ClusterKey {
	keys := make([]rollout.ClusterKey, 0, len(p.Clusters))
	for i := range p.Clusters {
		one := &p.Clusters[i]
		if member, _ := p.plan.Membership.Has(one.ClusterKey); one.Target != nil || one.Selected && !member {
			keys = append(keys, one.ClusterKey)
		}
	}
	return keys
}

// withoutTarget are those of Gone for which nobody shows a target.
func (p *planner) withoutTarget() (keys []rollout.ClusterKey) {
	for _, key := range p.Gone {
		if one := p.find(key); one == nil || one.Target == nil {
			keys = append(keys, key)
		}
	}
	return keys
}

// find is a cluster of the list; nil if it is not there.
func (p *planner) find(key rollout.ClusterKey) *Cluster {
	at, found := slices.BinarySearchFunc(p.Clusters, key, func(one Cluster, key rollout.ClusterKey) int { return one.Compare(key) })
	if !found {
		return nil
	}
	return &p.Clusters[at]
}

// mergeMembers are the clusters that are here and the members that are not, in the order of their keys.
func (p *planner) mergeMembers() {
	p.members = p.members[:0]
	for i := range p.Clusters {
		p.members = append(p.members, member{key: p.Clusters[i].ClusterKey, cluster: &p.Clusters[i]})
	}
	for _, entry := range p.plan.Membership.members {
		if p.find(entry.key) == nil {
			p.members = append(p.members, member{key: entry.key})
		}
	}
	slices.SortFunc(p.members, func(a, b member) int { return a.key.Compare(b.key) })
	for i := range p.members {
		_, p.members[i].gone = p.plan.Membership.Has(p.members[i].key)
		p.members[i].excluded = excludes(&p.Spec, p.Namespace, p.members[i].key)
	}
}

// enter begins a phase.
func (p *planner) enter(phase Phase) {
	if p.plan.Record.Phase != phase {
		p.plan.Record.Phase, p.plan.Record.Since = phase, metav1.NewTime(p.Now)
		p.plan.Again = p.Now
	}
}

// again asks for another plan at a time to come.
func (p *planner) again(at time.Time) {
	if at.After(p.Now) {
		p.plan.Again = times.Earliest(p.plan.Again, at)
	}
}

// finish writes what the parts of the plan came to.
func (p *planner) finish() {
	p.plan.Record.Members = p.plan.Membership.Reference()
	p.plan.Blocked = p.blockers()
	slices.SortFunc(p.plan.LookUp, rollout.ClusterKey.Compare)
	p.plan.LookUp = slices.Compact(p.plan.LookUp)
	p.plan.Urgent = active(&p.plan.Record) && p.plan.Record.Emergency != ""
}
