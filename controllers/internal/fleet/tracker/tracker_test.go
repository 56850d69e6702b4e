package tracker

import (
	"fmt"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

var (
	configMaps = schema.GroupKind{Kind: "ConfigMap"}
	settings   = objects.Key{GroupKind: configMaps, Namespace: "cache", Name: "settings"}
	release    = Owner{Kind: "AddonRelease", NamespacedName: types.NamespacedName{Namespace: "acme", Name: "cache-prod"}}
	healthy    = Health{Status: status.CurrentStatus}
)

// heard records what a tracker tells.
type heard []string

func (h *heard) notify(owner Owner, drifted bool) {
	*h = append(*h, fmt.Sprintf("%s drifted=%t", owner.Name, drifted))
}

func (h *heard) expect(t *testing.T, want ...string) {
	t.Helper()
	if fmt.Sprint([]string(*h)) != fmt.Sprint(want) {
		t.Errorf("heard %q, want %q", *h, want)
	}
	*h = nil
}

const (
	drift = "cache-prod drifted=true"
	news  = "cache-prod drifted=false"
)

// applied returns a tracker that knows of one object, applied at resource version 10 and seen since.
func applied(t *testing.T) (*Tracker, *heard) {
	t.Helper()
	told := &heard{}
	tracker := New(told.notify)
	if _, ok := tracker.Claim(release, settings); !ok {
		t.Fatal("nobody else claims the object, and yet it is refused")
	}
	tracker.Begin(settings)
	tracker.End(settings, &Expectation{UID: "1", Fingerprint: "ours", ResourceVersion: "10"})
	tracker.Observe(settings, seenAt("10", "ours"))
	*told = nil
	return tracker, told
}

func seenAt(version, fingerprint string) Seen {
	return Seen{UID: "1", ResourceVersion: version, Fingerprint: fingerprint, Health: healthy, Object: &metav1.PartialObjectMetadata{}}
}

func TestEventBeforeTheAnswerToItsApplyIsNoDrift(t *testing.T) {
	tracker, told := applied(t)
	tracker.Begin(settings)
	tracker.Observe(settings, seenAt("11", "newer"))
	told.expect(t)
	tracker.End(settings, &Expectation{UID: "1", Fingerprint: "newer", ResourceVersion: "11"})
	told.expect(t)
	if seen, drifted := tracker.Look(settings); drifted || seen == nil || seen.Object != nil {
		t.Errorf("drifted=%t, seen=%+v; want neither drift nor an object kept", drifted, seen)
	}
}

func TestChangeDuringAnApplyIsToldAfterItsAnswer(t *testing.T) {
	tracker, told := applied(t)
	tracker.Begin(settings)
	tracker.Observe(settings, seenAt("12", "theirs"))
	told.expect(t)
	tracker.End(settings, &Expectation{UID: "1", Fingerprint: "newer", ResourceVersion: "11"})
	told.expect(t, drift)
	if seen, _ := tracker.Look(settings); seen.Object == nil {
		t.Error("nothing is kept to tell who it was")
	}
}

func TestStaleEventAfterTheAnswerIsNoDrift(t *testing.T) {
	tracker, told := applied(t)
	tracker.Observe(settings, seenAt("9", "before our apply"))
	told.expect(t)
	if _, drifted := tracker.Look(settings); drifted {
		t.Error("what was before our apply counts as drift")
	}
}

func TestRemovedLabelOrDeletionIsDrift(t *testing.T) {
	tracker, told := applied(t)
	tracker.Observe(settings, Seen{Gone: true, UID: "1", ResourceVersion: "11"})
	told.expect(t, drift)
	if seen, drifted := tracker.Look(settings); !drifted || !seen.Gone {
		t.Errorf("drifted=%t, seen=%+v", drifted, seen)
	}
}

func TestEveryChangeAfterAnApplyIsDrift(t *testing.T) {
	tracker, told := applied(t)
	tracker.Observe(settings, seenAt("11", "theirs"))
	told.expect(t, drift)
	// Taken back by themselves.
	tracker.Observe(settings, seenAt("12", "ours"))
	told.expect(t)
	if _, drifted := tracker.Look(settings); drifted {
		t.Error("what is as it should be counts as drift")
	}
}

func TestChangedHealthIsTold(t *testing.T) {
	tracker, told := applied(t)
	failed := seenAt("11", "ours")
	failed.Health = Health{Status: status.FailedStatus, Message: "no"}
	tracker.Observe(settings, failed)
	told.expect(t, news)
	failed.ResourceVersion = "12"
	tracker.Observe(settings, failed)
	told.expect(t)
}

func TestListReportsWhatIsMissing(t *testing.T) {
	tracker, told := applied(t)
	tracker.Replace(configMaps, nil, "20", beforeApplies(tracker), time.Time{})
	told.expect(t, drift)
	if !tracker.Kind(configMaps).Listed {
		t.Error("not synced after a list")
	}
}

// The owner of an object that could not be made is not to try again because a watch began.
func TestListIsNoNewsAfterAFailureUnlessItIsAwaited(t *testing.T) {
	told := &heard{}
	tracker := New(told.notify)
	tracker.Claim(release, settings)
	tracker.Begin(settings)
	tracker.Replace(configMaps, nil, "20", beforeApplies(tracker), time.Time{})
	tracker.End(settings, nil)
	tracker.Replace(configMaps, nil, "25", beforeApplies(tracker), time.Time{})
	told.expect(t)

	tracker.Forget()
	if tracker.Kind(configMaps).Listed {
		t.Error("the list of the last connection counts")
	}
	tracker.Replace(configMaps, nil, "30", beforeApplies(tracker), time.Time{})
	told.expect(t, news)
	tracker.Replace(configMaps, nil, "40", beforeApplies(tracker), time.Time{})
	told.expect(t)

	tracker.Begin(settings)
	tracker.End(settings, &Expectation{UID: "1", Fingerprint: "ours", ResourceVersion: "50"})
	tracker.Replace(configMaps, map[objects.Key]Seen{settings: seenAt("50", "ours")}, "55", beforeApplies(tracker), time.Time{})
	told.expect(t, news)
}

// beforeApplies is the horizon of a list that was asked for after every claim, and before anything was applied.
func beforeApplies(tracker *Tracker) Horizon { return Horizon{claims: tracker.claims} }

func TestListSaysNothingOfWhatWasClaimedWhileItWasMade(t *testing.T) {
	var heard heard
	tracker := New(heard.notify)
	tracker.Kind(configMaps)
	before := tracker.Horizon(configMaps)
	tracker.Claim(release, settings)
	tracker.Begin(settings)
	tracker.End(settings, &Expectation{Fingerprint: "ours", ResourceVersion: "10"}) // It was there already, at that version.
	tracker.Replace(configMaps, nil, "20", before, time.Time{})
	heard.expect(t, news)
	if seen, drifted := tracker.Look(settings); seen != nil || drifted {
		t.Errorf("it is taken for gone: %+v, drifted %t", seen, drifted)
	}
	tracker.Replace(configMaps, nil, "30", tracker.Horizon(configMaps), time.Time{})
	heard.expect(t, drift)
}

func TestListFromBeforeAnApplyDoesNotReportItsObjectAsMissing(t *testing.T) {
	tracker, told := applied(t)
	tracker.Replace(configMaps, nil, "9", beforeApplies(tracker), time.Time{})
	told.expect(t, news)
	if _, drifted := tracker.Look(settings); drifted {
		t.Error("an object that was made after the list counts as deleted")
	}
}

// A cluster that was restored from a snapshot counts its versions from there.
func TestListThatIsOlderThanWhatWasAppliedBeforeItTellsOfARestoredCluster(t *testing.T) {
	tracker, told := applied(t)
	before := tracker.Horizon(configMaps)
	if before.newest != "10" {
		t.Fatalf("the newest version is %q, want that of the apply", before.newest)
	}
	tracker.Replace(configMaps, map[objects.Key]Seen{settings: seenAt("3", "before our apply")}, "5", before, time.Time{})
	told.expect(t, drift)
	tracker.Observe(settings, seenAt("6", "theirs"))
	told.expect(t, drift)

	tracker.Begin(settings)
	tracker.End(settings, &Expectation{UID: "1", Fingerprint: "ours", ResourceVersion: "7"})
	tracker.Observe(settings, seenAt("6", "theirs"))
	told.expect(t)
	if _, drifted := tracker.Look(settings); drifted {
		t.Error("an event from before the repair counts as drift")
	}
}

func TestUnknownKindIsToldToTheOwnersOfItsObjects(t *testing.T) {
	tracker, told := applied(t)
	tracker.SetUnknown(schema.GroupKind{Kind: "Secret"}, "forbidden")
	told.expect(t)
	tracker.SetUnknown(configMaps, "forbidden")
	told.expect(t, news)
	if state := tracker.Kind(configMaps); state.Unknown != "forbidden" || state.Pending() {
		t.Errorf("got %+v", state)
	}
	tracker.SetUnknown(configMaps, "")
	told.expect(t, news)
}

func TestListOfOneKindLeavesOthersAlone(t *testing.T) {
	tracker, told := applied(t)
	tracker.Replace(schema.GroupKind{Kind: "Secret"}, nil, "20", beforeApplies(tracker), time.Time{})
	told.expect(t)
	if tracker.Kind(configMaps).Listed {
		t.Error("the list of another kind counts")
	}
}

func TestObjectsThatNobodyClaimedCostNothing(t *testing.T) {
	told := &heard{}
	tracker := New(told.notify)
	tracker.Observe(settings, seenAt("1", "theirs"))
	tracker.Replace(configMaps, map[objects.Key]Seen{settings: seenAt("1", "theirs")}, "2", beforeApplies(tracker), time.Time{})
	told.expect(t)
	if len(tracker.objects) != 0 || tracker.Claims(settings) {
		t.Errorf("kept %d objects", len(tracker.objects))
	}
	if seen, _ := tracker.Look(settings); seen != nil {
		t.Errorf("kept %+v", seen)
	}
}

func TestObjectBelongsToWhoClaimedItFirst(t *testing.T) {
	tracker, _ := applied(t)
	other := Owner{Kind: "AddonRelease", NamespacedName: types.NamespacedName{Namespace: "acme", Name: "other"}}
	if holder, ok := tracker.Claim(other, settings); ok || holder != release {
		t.Errorf("holder %v, ok=%t", holder, ok)
	}
	none := func(objects.Key) bool { return false }
	tracker.Retain(other, none)
	if !tracker.Claims(settings) {
		t.Error("another owner ended the claim")
	}
	tracker.Retain(release, none)
	if _, ok := tracker.Claim(other, settings); !ok {
		t.Error("a released object cannot be claimed")
	}
}

func TestLostConnectionForgetsWhatWasSeenAndKeepsWhatIsExpected(t *testing.T) {
	tracker, told := applied(t)
	tracker.Replace(configMaps, map[objects.Key]Seen{settings: seenAt("10", "ours")}, "10", beforeApplies(tracker), time.Time{})
	*told = nil
	tracker.Forget()
	if seen, _ := tracker.Look(settings); seen != nil || tracker.Kind(configMaps).Listed {
		t.Error("old news is kept")
	}
	// Drift while the connection was down.
	tracker.Replace(configMaps, map[objects.Key]Seen{settings: seenAt("15", "theirs")}, "15", beforeApplies(tracker), time.Time{})
	told.expect(t, drift)
}

func TestAfterARestartEveryObservationCounts(t *testing.T) {
	told := &heard{}
	tracker := New(told.notify)
	tracker.Keep(release, settings, Expectation{UID: "1", Fingerprint: "ours"})
	tracker.Replace(configMaps, map[objects.Key]Seen{settings: seenAt("3", "theirs")}, "5", beforeApplies(tracker), time.Time{})
	told.expect(t, drift)
}

func TestARecordIsExpectedUntilAnApplyTellsMore(t *testing.T) {
	tracker := New((&heard{}).notify)
	for _, recorded := range []string{"older", "ours"} {
		tracker.Keep(release, settings, Expectation{UID: "1", Fingerprint: recorded})
	}
	if !tracker.IsMissed(settings) {
		t.Error("a watch that has listed before is taken to have shown it")
	}
	tracker.Observe(settings, seenAt("3", "ours"))
	if _, drifted := tracker.Look(settings); drifted || tracker.IsMissed(settings) {
		t.Errorf("drifted %t, missed %t", drifted, tracker.IsMissed(settings))
	}
	tracker.Begin(settings)
	tracker.End(settings, &Expectation{UID: "1", Fingerprint: "newer", ResourceVersion: "5"})
	tracker.Keep(release, settings, Expectation{UID: "1", Fingerprint: "ours"})
	tracker.Observe(settings, seenAt("5", "newer"))
	if _, drifted := tracker.Look(settings); drifted {
		t.Error("a record is expected that is older than the last apply")
	}
	other := Owner{Kind: "AddonRelease", NamespacedName: types.NamespacedName{Namespace: "acme", Name: "other"}}
	tracker.Keep(other, settings, Expectation{UID: "1", Fingerprint: "theirs"})
	if owner, _ := tracker.OwnerOf(settings); owner != release {
		t.Errorf("it is %s's now", owner)
	}
}
