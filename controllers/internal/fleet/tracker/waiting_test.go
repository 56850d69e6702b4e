package tracker

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

var (
	agent   = Owner{Kind: "AddonRelease", NamespacedName: types.NamespacedName{Namespace: "daytwo-system", Name: "agent"}}
	scanner = Owner{Kind: "AddonRelease", NamespacedName: types.NamespacedName{Namespace: "daytwo-system", Name: "scanner"}}
	third   = Owner{Kind: "AddonRelease", NamespacedName: types.NamespacedName{Namespace: "acme", Name: "third"}}
)

const (
	agentHears = "agent drifted=false"
	thirdHears = "third drifted=false"
)

func none(objects.Key) bool { return false }

func all(objects.Key) bool { return true }

func TestWhoWaitsHearsThatAnObjectIsFree(t *testing.T) {
	tracker, told := applied(t)
	if !tracker.Await(third, release, settings) {
		t.Error("an object that another one has is not awaited")
	}
	told.expect(t)
	tracker.Retain(release, all)
	told.expect(t)
	tracker.Retain(release, none)
	told.expect(t, thirdHears)
	if _, ok := tracker.Claim(third, settings); !ok {
		t.Error("it is not free")
	}
	tracker.Retain(third, none)
	told.expect(t) // The first one waits for nothing.
}

func TestAnObjectThatTheHolderHasNoMoreIsNotAwaited(t *testing.T) {
	tracker, told := applied(t)
	tracker.Retain(release, none)
	if tracker.Await(third, release, settings) || tracker.Demand(agent, release, settings) {
		t.Error("an object is awaited that is free")
	}
	tracker.Claim(third, settings)
	if tracker.Await(agent, release, settings) || tracker.Demand(agent, release, settings) {
		t.Error("an object is awaited that is another one's by now")
	}
	told.expect(t)
}

func TestWhoDeclaresAnObjectNoMoreIsNotTold(t *testing.T) {
	tracker, told := applied(t)
	tracker.Await(third, release, settings)
	tracker.Demand(agent, release, settings)
	told.expect(t, news)
	tracker.Retain(third, none)
	tracker.Retain(agent, none)
	if demanded := tracker.Outranked(release); len(demanded) != 0 {
		t.Errorf("demanded: %v", demanded)
	}
	if len(tracker.waiting) != 0 {
		t.Errorf("%d queues are kept of which nobody is in", len(tracker.waiting))
	}
	tracker.Retain(release, none)
	told.expect(t)
}

func TestADemandedObjectIsTheHoldersUntilItIsRelinquished(t *testing.T) {
	tracker, told := applied(t)
	if !tracker.Demand(agent, release, settings) {
		t.Error("the object cannot be demanded")
	}
	told.expect(t, news)
	if demanded := tracker.Outranked(release); !slices.Equal(demanded, []objects.Key{settings}) {
		t.Errorf("demanded of the holder: %v", demanded)
	}
	if holder, ok := tracker.Claim(agent, settings); ok || holder != release {
		t.Errorf("it is %v before it was yielded", holder)
	}
	if !tracker.Relinquish(release, settings) {
		t.Error("it cannot be yielded")
	}
	told.expect(t, agentHears)
	if holder, ok := tracker.Claim(third, settings); ok || holder != agent {
		t.Errorf("a third one came in between: %v", holder)
	}
	if len(tracker.Outranked(release))+len(tracker.Outranked(agent)) != 0 {
		t.Error("it is demanded after it was yielded")
	}
	if seen, _ := tracker.Look(settings); seen != nil || !tracker.IsMissed(settings) {
		t.Errorf("what the first one's watch saw counts for the second: %+v", seen)
	}
	tracker.Observe(settings, seenAt("11", "agent's"))
	told.expect(t, agentHears) // Nothing is expected of it yet, so that it has not drifted.
	tracker.Retain(agent, none)
	told.expect(t, news) // The first one has waited.
}

func TestNothingIsRelinquishedThatNobodyDemands(t *testing.T) {
	tracker, told := applied(t)
	tracker.Await(third, release, settings)
	if tracker.Relinquish(release, settings) || tracker.Relinquish(third, settings) {
		t.Error("it was yielded")
	}
	tracker.Demand(agent, release, settings)
	tracker.Await(agent, release, settings) // It was suspended meanwhile.
	if tracker.Relinquish(release, settings) {
		t.Error("it was yielded though the demand has ended")
	}
	if holder, _ := tracker.OwnerOf(settings); holder != release {
		t.Errorf("it is %v", holder)
	}
	told.expect(t, news)
}

func TestOfSeveralThatDemandAnObjectTheFirstGetsIt(t *testing.T) {
	tracker, told := applied(t)
	tracker.Demand(agent, release, settings)
	tracker.Demand(scanner, release, settings)
	tracker.Relinquish(release, settings)
	if holder, _ := tracker.OwnerOf(settings); holder != agent {
		t.Errorf("it is %v", holder)
	}
	*told = nil
	tracker.Retain(agent, none)
	slices.Sort(*told)
	told.expect(t, news, "scanner drifted=false")
}

// The holder ended with what it had, before it came to yield it.
func TestWhoDemandsAnObjectHearsThatItIsFree(t *testing.T) {
	tracker, told := applied(t)
	tracker.Demand(agent, release, settings)
	*told = nil
	tracker.Retain(release, none)
	told.expect(t, agentHears)
}

func TestAListBegunBeforeAnObjectWasRelinquishedDoesNotMakeItGone(t *testing.T) {
	tracker, told := applied(t)
	before := tracker.Horizon(configMaps)
	tracker.Demand(agent, release, settings)
	tracker.Relinquish(release, settings)
	*told = nil
	tracker.Replace(configMaps, map[objects.Key]Seen{}, "12", before, seenAt("", "").At)
	if seen, _ := tracker.Look(settings); seen != nil {
		t.Errorf("seen: %+v", seen)
	}
}
