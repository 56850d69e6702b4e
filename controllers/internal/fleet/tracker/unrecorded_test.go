package tracker

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

func TestObjectsThatNoTargetClaimsAreToldAfterAWhile(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	tracker := New(func(Owner, bool) {})
	key := func(name string) objects.Key {
		return objects.Key{GroupKind: schema.GroupKind{Kind: "ConfigMap"}, Namespace: "default", Name: name}
	}
	expect := func(at time.Time, want Unrecorded) {
		t.Helper()
		if got := tracker.Unrecorded(at); got != want {
			t.Errorf("%s after noon there is %+v, and not %+v", at.Sub(noon), got, want)
		}
	}
	later := noon.Add(unrecordedAfter)
	for _, name := range []string{"b", "a", "claimed", "deleted"} {
		tracker.NoteUnrecorded(key(name), "1", false, noon)
	}
	tracker.Claim(release, key("claimed"))
	tracker.NoteUnrecorded(key("claimed"), "1", false, noon)
	tracker.NoteUnrecorded(key("deleted"), "1", true, noon)
	tracker.NoteUnrecorded(key("a"), "1", false, later)
	expect(later.Add(-time.Millisecond), Unrecorded{})
	expect(later, Unrecorded{Count: 2, Examples: "ConfigMap default/a, ConfigMap default/b"})

	tracker.RetainUnrecorded(key("").GroupKind, map[objects.Key]types.UID{key("b"): "1"})
	expect(later, Unrecorded{Count: 1, Examples: "ConfigMap default/b"})
	tracker.Forget()
	expect(later, Unrecorded{})

	for i := range 2 * MaxUnrecorded {
		tracker.NoteUnrecorded(key(fmt.Sprintf("many-%04d", i)), "1", false, noon)
	}
	tracker.NoteUnrecorded(key(strings.Repeat("x", 1<<20)), "1", false, noon)
	if got := tracker.Unrecorded(later); got.Count != MaxUnrecorded || len(got.Examples) > 200 {
		t.Errorf("of too many there are %d, with %d bytes of examples", got.Count, len(got.Examples))
	}
}
