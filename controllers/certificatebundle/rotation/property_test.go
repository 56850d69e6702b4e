package rotation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// simulatedFleets is how many random fleets live in a test; each has some 500 events.
const simulatedFleets = 2500

// event is something that happens to a fleet, with how often in a thousand.
type event struct {
	often  int
	happen func(f *fleet)
}

var events = []event{
	{300, func(f *fleet) { f.pass(time.Duration(1+f.random.IntN(300)) * time.Second) }},
	{274, func(f *fleet) { f.ofOne(func(c *simulatedCluster) { f.deliver(c, 5) }) }},
	{270, func(f *fleet) { f.reconcile(3) }},
	{30, func(f *fleet) { f.restartManager() }},
	{20, func(f *fleet) { f.ofOne(func(c *simulatedCluster) { c.reachable = !c.reachable }) }},
	{16, func(f *fleet) { f.ofOne(func(c *simulatedCluster) { c.stuck = !c.stuck && f.chance(50) }) }},
	{14, func(f *fleet) { f.ofOne(func(c *simulatedCluster) { c.snapshots = append(c.snapshots, c.stored) }) }},
	{8, func(f *fleet) { f.ofOne(f.restore) }},
	{10, func(f *fleet) { f.ofOne(f.restoreLeaving) }},
	{6, func(f *fleet) { f.joinOrLeave() }},
	{6, func(f *fleet) { f.ofTarget(f.selectOrNot) }},
	{6, func(f *fleet) { f.ofTarget(f.hideOrNot) }},
	{6, func(f *fleet) { f.ofTarget(func(c *simulatedCluster) { c.target.Generation++; f.changed(c) }) }},
	{14, func(f *fleet) { f.spec.CA = fmt.Sprintf("token-%d", f.random.IntN(1000)) }},
	{10, func(f *fleet) { f.rollBackOrNot() }},
	{4, func(f *fleet) { f.excludeOrNot() }},
	{1, func(f *fleet) { f.spec.EmergencyReason = "the key leaked" }},
	{1, func(f *fleet) { f.confirmation = fmt.Sprint(f.record.Next.Generation) }},
	{2, func(f *fleet) { f.loseMembership() }},
	{1, func(f *fleet) { f.loseRecord() }},
}

// restoredEvents are what happens in fleets whose clusters are often put back: whatever goes wrong there is no person's doing.
var restoredEvents = []event{
	{240, func(f *fleet) { f.pass(time.Duration(1+f.random.IntN(240)) * time.Second) }},
	{300, func(f *fleet) { f.ofOne(func(c *simulatedCluster) { f.deliver(c, 5) }) }},
	{300, func(f *fleet) { f.reconcile(1) }},
	{10, func(f *fleet) { f.restartManager() }},
	{10, func(f *fleet) { f.ofOne(func(c *simulatedCluster) { c.reachable = !c.reachable && f.chance(90) }) }},
	{20, func(f *fleet) { f.ofOne(func(c *simulatedCluster) { c.stuck = !c.stuck && f.chance(70) }) }},
	{30, func(f *fleet) { f.ofOne(func(c *simulatedCluster) { c.snapshots = append(c.snapshots, c.stored) }) }},
	{10, func(f *fleet) { f.ofOne(f.restore) }},
	{20, func(f *fleet) { f.ofOne(f.restoreLeaving) }},
	{60, func(f *fleet) { f.spec.CA = fmt.Sprintf("token-%d", f.random.IntN(1000)) }},
}

func (f *fleet) ofOne(happen func(c *simulatedCluster)) {
	if c := f.pick(); c != nil {
		happen(c)
	}
}

func (f *fleet) ofTarget(happen func(c *simulatedCluster)) {
	if c := f.pick(); c != nil && c.target != nil && !c.target.deleting {
		happen(c)
	}
}

func (f *fleet) joinOrLeave() {
	c := f.pick()
	switch {
	case c == nil || f.chance(50) && len(f.clusters) < 7:
		f.join()
	case c.target == nil:
		f.clusters = without(f.clusters, c)
	default:
		c.selected, c.target.deleting, c.target.hidden = false, true, false
		f.changed(c)
	}
}

func without(clusters []*simulatedCluster, removed *simulatedCluster) (left []*simulatedCluster) {
	for _, one := range clusters {
		if one != removed {
			left = append(left, one)
		}
	}
	return left
}

func (f *fleet) rollBackOrNot() {
	f.spec.Rollback = f.record.Next.Generation
	if f.chance(40) {
		f.spec.Rollback = 0
	}
}

func (f *fleet) excludeOrNot() {
	f.spec.Exclude = nil
	if c := f.pick(); c != nil && f.chance(50) {
		f.spec.Exclude = []Exclusion{{Cluster: c.name, Reason: "it is being repaired"}}
	}
	f.forgive()
}

// selectOrNot lets the guard hold a target, or a policy select its cluster again.
func (f *fleet) selectOrNot(c *simulatedCluster) {
	if !c.target.hidden || f.isMember(c) {
		c.selected = !c.selected
	}
}

// hideOrNot removes the label of a target, or mends it. Of one that is not selected either, the membership alone knows.
func (f *fleet) hideOrNot(c *simulatedCluster) {
	if c.selected || f.isMember(c) {
		c.target.hidden = !c.target.hidden
	}
}

func (f *fleet) isMember(c *simulatedCluster) bool {
	member, gone := f.memberships[f.record.Members.Hash].Has(c.key())
	return active(&f.record) && member && !gone
}

// mendLabels between rotations: no membership knows the targets that are hidden then.
func (f *fleet) mendLabels() {
	for _, one := range f.clusters {
		if one.target != nil && !one.selected && !active(&f.record) {
			one.target.hidden = false
		}
	}
}

// anyHidden is whether the membership knows more than the targets.
func (f *fleet) anyHidden() bool {
	return slices.ContainsFunc(f.clusters, func(c *simulatedCluster) bool { return c.target != nil && c.target.hidden })
}

// loseMembership loses its object, unless targets are hidden at the same time.
func (f *fleet) loseMembership() {
	if !f.anyHidden() {
		f.memberships = map[string]Membership{}
	}
}

// loseRecord loses the status, as a restore of the management cluster may, unless targets are hidden at the same time.
func (f *fleet) loseRecord() {
	if !f.anyHidden() {
		f.record = Record{}
	}
}

// live lets random events happen, and then calm in which a rotation has to end. It returns what went wrong.
func (f *fleet) live(steps int) string {
	for range steps {
		at := f.random.IntN(1000)
		for _, one := range f.events {
			if at -= one.often; at < 0 {
				one.happen(f)
				break
			}
		}
		f.forgive()
		f.mendLabels()
		if f.check(); f.violation != "" {
			return f.violation
		}
	}
	return f.calm()
}

// calm is everybody reachable and nothing new, for long enough.
func (f *fleet) calm() string {
	f.spec.Exclude, f.spec.EmergencyReason = nil, ""
	if f.chance(70) {
		f.spec.Rollback = 0
	}
	for _, one := range f.clusters {
		one.reachable, one.stuck = true, false
		if one.target != nil {
			one.target.hidden = false
			if !one.target.deleting {
				one.selected = true
			}
		}
	}
	f.manager.stalled = nil
	for range 120 {
		for range 3 {
			f.reconcile(0)
			for _, one := range f.clusters {
				f.deliver(one, 0)
			}
		}
		f.pass(4 * time.Minute)
		f.forgive()
		if f.check(); f.violation != "" {
			return f.violation
		}
		if f.record.Phase == Idle && f.unsettled() == "" {
			return ""
		}
	}
	if f.needsPerson() {
		return ""
	}
	return f.unsettled()
}

// needsPerson is whether the record is lost, and nobody knows the only authority any more that some cluster was told: its
// target was not to be seen when the rotation ended. Then everything stays as it is.
func (f *fleet) needsPerson() bool {
	return f.record.Phase == "" && slices.ContainsFunc(f.clusters, func(c *simulatedCluster) bool {
		return c.target != nil && f.authorities[c.target.Told.Issuer].Generation == 0
	})
}

// unsettled is what is missing until the current authority is the only one everywhere.
func (f *fleet) unsettled() string {
	if f.record.Phase != Idle || f.record.Token != f.spec.CA || len(f.authorities) != 1 {
		return fmt.Sprintf("the rotation has not ended: %+v, %d authorities", f.record, len(f.authorities))
	}
	only := fmt.Sprint([]int64{f.record.Current.Generation})
	for _, one := range f.clusters {
		if one.selected && (one.loaded.leaf.issuer != f.record.Current.Generation || fmt.Sprint(one.loaded.trust.generations) != only) {
			return fmt.Sprintf("%s has a leaf of authority %d and trusts %v, not %d alone", one.name, one.loaded.leaf.issuer, one.loaded.trust.generations, f.record.Current.Generation)
		}
	}
	return ""
}

// At no instant does a cluster serve a leaf that another selected cluster does not trust, and every rotation ends.
func TestEveryServedLeafIsTrustedAndEveryRotationEnds(t *testing.T) {
	seed := rand.Uint64()
	visited := map[string]int{}
	for i := range uint64(simulatedFleets) {
		f := newFleet(seed+i, PlanRotation)
		if wrong := f.live(500); wrong != "" {
			t.Fatalf("seed %d: %s", seed+i, wrong)
		}
		for phase, times := range f.visited {
			visited[phase] += times
		}
	}
	t.Logf("seed %d; phases entered: %v", seed, visited)
	for _, phase := range []Phase{Idle, Preparing, Prepared, Switching, Switched, Completing} {
		if visited[fmt.Sprintf("%s back=false", phase)] < simulatedFleets/10 {
			t.Errorf("%s was hardly ever entered: %v", phase, visited)
		}
	}
	for _, phase := range []Phase{Switching, Switched, Completing} {
		if visited[fmt.Sprintf("%s back=true", phase)] < simulatedFleets/10 {
			t.Errorf("%s was hardly ever entered on the way back: %v", phase, visited)
		}
	}
}
