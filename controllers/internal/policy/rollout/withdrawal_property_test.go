package rollout

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"
)

const longestStep = 12 * time.Minute

// counting is a number of clusters at some time.
type counting struct {
	at    time.Time
	count int
}

// chaos edits a fleet at random, and keeps what a person would who counts clusters.
type chaos struct {
	*fleet
	source *rand.Rand
	// losses are without confirmation.
	losses []counting
	// sizes are how many clusters there were, apart from those that a person let go since.
	sizes []counting
	// confirmed is how many clusters a person let go that are not gone.
	confirmed int
	// unsettled: the manager died, and did not write the status since.
	unsettled bool
}

func (c *chaos) chance(percent int) bool { return c.source.IntN(100) < percent }

// edit does what people and their tools do.
func (c *chaos) edit() {
	clusters := &c.input.Clusters
	switch c.source.IntN(7) {
	case 0:
		c.deselect(c.source.IntN(len(*clusters) + 1))
	case 1, 2:
		c.deselect(min(1+c.source.IntN(3), len(*clusters)))
	case 3:
		c.add(c.source.IntN(12))
	case 4:
		if len(*clusters) > 0 {
			index := c.source.IntN(len(*clusters))
			*clusters = slices.Delete(*clusters, index, index+1)
		}
	case 5:
		c.input.Policy.Confirmation = ""
		if waiting := int(Withdraw(c.input).Clusters.Count); c.chance(50) {
			c.input.Policy.Confirmation = strconv.Itoa(waiting)
		}
	case 6:
		if len(*clusters) > 0 {
			one := &(*clusters)[c.source.IntN(len(*clusters))]
			if one.Gates = nil; !one.Deleting {
				one.Gates = []Gate{terminatingGate} // First the one, then the other.
			}
			one.Deleting = true
		}
	}
	c.wait(time.Duration(c.source.Int64N(int64(longestStep))))
}

// step carries a plan out. Sometimes a deletion fails, and sometimes the manager dies halfway.
func (c *chaos) step() {
	plan, wanted := PlanRollout(c.input), int(Withdraw(c.input).Clusters.Count)
	c.confirmed = min(c.confirmed, wanted)
	if plan.Withdrawal.Confirmed {
		c.confirmed = wanted
		for i := range c.sizes {
			c.sizes[i].count = max(c.sizes[i].count-wanted, 0)
		}
	}
	dies := len(plan.Delete) > 0 && !c.unsettled && c.chance(20)
	if c.chance(10) || dies {
		plan.Delete = plan.Delete[:c.source.IntN(len(plan.Delete)+1)]
	}
	// The guard goes by what the policy had before this step, so what the step creates counts from the next one on.
	has := c.input.has() - c.confirmed
	c.sizes = append(c.sizes, counting{c.input.Now, has})
	// Which of them was confirmed is not known.
	lost := min(len(plan.Delete), wanted-c.confirmed)
	c.losses = append(c.losses, counting{c.input.Now, lost})
	c.confirmed -= len(plan.Delete) - lost
	if lost > 0 {
		c.check()
	}
	c.sizes = append(c.sizes, counting{c.input.Now, has + len(plan.Create)})

	if c.unsettled = dies; dies {
		c.crash(plan)
		return
	}
	c.carryOut(plan)
}

// check that no more are lost in the last hour than allowed. What a manager did that died counts from
// the next step on, so the most clusters may be those of some minutes earlier.
func (c *chaos) check() {
	c.t.Helper()
	lost, peak := c.within(c.losses, time.Hour).sum, c.within(c.sizes, time.Hour).most
	earlier := c.within(c.sizes, time.Hour+time.Minute+longestStep).most
	if guard := c.input.Policy.Guard; !guard.allows(lost, peak) && !guard.allows(lost, earlier) {
		c.t.Fatalf("%d of %d clusters lost within an hour, allowed %+v: %v of %v", lost, peak, guard, c.losses, c.sizes)
	}
}

type summed struct{ sum, most int }

func (c *chaos) within(what []counting, span time.Duration) (found summed) {
	for _, one := range what {
		if c.input.Now.Sub(one.at) < span {
			found.sum += one.count
			found.most = max(found.most, one.count)
		}
	}
	return found
}

func TestNeverMoreAreLostInAnyHourThanAllowed(t *testing.T) {
	source := random(t)
	for range 150 {
		c := &chaos{fleet: newFleet(t, source.IntN(60)), source: source}
		c.input.Policy.Guard = Guard{MaxClusters: 1 + source.IntN(5), MaxPercent: source.IntN(60)}
		for range 60 {
			c.edit()
			c.step()
		}
	}
}

func TestGuardChangesNothingButDeletions(t *testing.T) {
	source := random(t)
	for range rounds {
		input := randomInput(source)
		input.Policy.Shared = false
		input.Policy.Guard = Guard{MaxClusters: 1, MaxPercent: source.IntN(100)}
		guarded := PlanRollout(input)
		input.Policy.Guard.MaxPercent = 100
		open := PlanRollout(input)
		if len(guarded.Delete) > 0 && !slices.Equal(guarded.Delete, open.Delete) {
			t.Fatalf("some are deleted and some are not: %v of %v", guarded.Delete, open.Delete)
		}
		guarded.Delete, guarded.Withdrawal, open.Delete, open.Withdrawal = nil, Withdrawal{}, nil, Withdrawal{}
		if !reflect.DeepEqual(guarded, open) {
			t.Fatalf("the guard changed %+v to %+v", open, guarded)
		}
	}
}

func TestRecordChangesOnlyWithTheClusters(t *testing.T) {
	source := random(t)
	for range rounds / 10 {
		c := &chaos{fleet: newFleet(t, source.IntN(30)), source: source}
		for range 5 {
			c.edit()
			c.step()
		}
		c.carryOut(PlanRollout(c.input))
		before := c.input.Withdrawals
		c.wait(time.Duration(source.Int64N(int64(10 * time.Minute))))
		c.carryOut(Plan{})
		if !reflect.DeepEqual(before, c.input.Withdrawals) {
			t.Fatalf("%+v became %+v", before, c.input.Withdrawals)
		}
	}
}
