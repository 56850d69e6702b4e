package tracker

import (
	"testing"

	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
)

func TestTheOwnerHearsOnceWhoSetSomethingThatStays(t *testing.T) {
	tracker, told := applied(t)
	beat := func(version string, tolerated ...string) {
		seen := seenAt(version, "ours")
		seen.Tolerated = tolerated
		tracker.Observe(settings, seen)
	}
	beat("11", "mesh")
	told.expect(t, news)
	beat("12", "mesh")
	beat("13", "mesh")
	told.expect(t)
	beat("14", "backup", "mesh")
	told.expect(t, news)
}

func TestNothingIsToleratedUntilTheOwnerSaysSo(t *testing.T) {
	tracker, _ := applied(t)
	if tolerance, _ := tracker.Claimed(settings); tolerance.Additions != managedfields.RevertAll {
		t.Errorf("got %+v", tolerance)
	}
	tracker.Tolerate(settings, managedfields.Tolerance{Additions: managedfields.RevertNone})
	if tolerance, claimed := tracker.Claimed(settings); !claimed || tolerance.Additions != managedfields.RevertNone {
		t.Errorf("got %+v", tolerance)
	}
}
