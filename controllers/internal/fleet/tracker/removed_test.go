package tracker

import (
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

func TestWhoRemovedAnObjectIsToldWhenItIsBack(t *testing.T) {
	var told []Owner
	tracker := New(func(owner Owner, _ bool) { told = append(told, owner) })
	other := Owner{Kind: "AddonRelease", NamespacedName: types.NamespacedName{Name: "other"}}
	settings := objects.Key{GroupKind: schema.GroupKind{Kind: "ConfigMap"}, Namespace: "default", Name: "settings"}
	tracker.SetRemoved(release, map[objects.Key]types.UID{settings: "removed"})
	tracker.SetRemoved(other, map[objects.Key]types.UID{settings: "removed-earlier"})
	note := func(uid types.UID, gone bool, want ...Owner) {
		t.Helper()
		told = nil
		tracker.NoteUnrecorded(settings, uid, gone, time.Time{})
		if !slices.Equal(told, want) {
			t.Errorf("object %s: told were %v, want %v", uid, told, want)
		}
		if returned := tracker.HasReturned(settings, uid); returned == gone {
			t.Errorf("object %s has returned: %t", uid, returned)
		}
	}
	note("of-others", false)
	note("removed", false, release)
	note("removed", false) // It is known by now.
	note("removed-earlier", false, other)
	note("removed-earlier", true)
	tracker.SetRemoved(release, nil)
	note("removed", false)
	tracker.Claim(release, settings)
	if tracker.HasReturned(settings, "removed") {
		t.Error("what a target claims is said to have returned")
	}
}
