package tombstones

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

func entry(name string, uid types.UID) apply.Entry {
	kind := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	return apply.Entry{Ref: objects.Ref{GroupVersionKind: kind, Namespace: "default", Name: name}, UID: uid}
}

func removed(list ...apply.Entry) []metav1alpha1.RemovedObject {
	var stored []metav1alpha1.RemovedObject
	for _, e := range list {
		stored = append(stored, metav1alpha1.RemovedObject{ID: e.ID(), UID: string(e.UID)})
	}
	return stored
}

func TestRemovedObjectsAreRememberedUntilTheyAreDeclared(t *testing.T) {
	a, b := entry("a", "1"), entry("b", "2")
	declaresA := []apply.Object{{Ref: a.Ref}}
	for name, test := range map[string]struct {
		known, want []metav1alpha1.RemovedObject
		declared    []apply.Object
		gone        []apply.Entry
	}{
		"nothing":                           {},
		"one is gone":                       {known: removed(a), gone: []apply.Entry{b}, want: removed(a, b)},
		"one is gone that was never there":  {gone: []apply.Entry{entry("never", "")}},
		"one is gone once more":             {known: removed(a, b), gone: []apply.Entry{a}, want: removed(b, a)},
		"one is found gone twice":           {gone: []apply.Entry{a, a}, want: removed(a)},
		"one is declared again":             {known: removed(a, b), declared: declaresA, want: removed(b)},
		"one was made anew, and is gone":    {known: removed(a), gone: []apply.Entry{entry("a", "3")}, want: removed(a, entry("a", "3"))},
		"what is declared is not known now": {known: removed(a), want: removed(a)},
	} {
		t.Run(name, func(t *testing.T) {
			before := slices.Clone(test.known)
			if got := Update(test.known, test.declared, apply.Result{Gone: test.gone}); !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
			if !slices.Equal(test.known, before) {
				t.Error("what was known is changed")
			}
		})
	}
}

func TestTheOldestAreForgotten(t *testing.T) {
	var known []metav1alpha1.RemovedObject
	for i := range Most + 10 {
		known = Update(known, nil, apply.Result{Gone: []apply.Entry{entry(fmt.Sprint("object-", i), types.UID(fmt.Sprint(i)))}})
	}
	if len(known) != Most || known[0].UID != "10" || known[Most-1].UID != fmt.Sprint(Most+9) {
		t.Errorf("%d are known, from %s to %s", len(known), known[0].UID, known[len(known)-1].UID)
	}
}

// watched is a cluster that notes which kinds are watched.
type watched struct {
	kinds []string
	err   error
}

func (w *watched) Watch(_ context.Context, kind schema.GroupVersionKind) error {
	w.kinds = append(w.kinds, kind.Kind)
	return w.err
}

func TestWhatIsBackIsToldByItsUID(t *testing.T) {
	owner := tracker.Owner{Kind: "AddonRelease"}
	tracked := tracker.New(func(tracker.Owner, bool) {})
	back, anew, claimed, listed, gone := entry("back", "1"), entry("anew", "2"), entry("claimed", "3"), entry("listed", "4"), entry("gone", "5")
	tracked.Claim(owner, claimed.Key())
	tracked.NoteUnrecorded(back.Key(), back.UID, false, time.Time{})
	tracked.NoteUnrecorded(anew.Key(), "another", false, time.Time{})
	cluster := &watched{}
	inventory := apply.Inventory{listed.Key(): listed, gone.Key(): entry("gone", "made-later")}
	returned, err := Follow(t.Context(), cluster, tracked, removed(back, anew, claimed, listed, gone), inventory)
	if err != nil {
		t.Fatal(err)
	}
	if apply.Names(returned) != apply.Names([]apply.Entry{back, listed}) {
		t.Errorf("returned are %s", apply.Names(returned))
	}
	if !slices.Contains(cluster.kinds, "ConfigMap") {
		t.Error("their kind is not watched")
	}
	if again := Among(returned, []apply.Entry{back, entry("listed", "another")}); apply.Names(again) != apply.Names([]apply.Entry{back}) {
		t.Errorf("removed again are %s", apply.Names(again))
	}
}

func TestAKindThatIsNotServedHasNothingThatReturned(t *testing.T) {
	tracked := tracker.New(func(tracker.Owner, bool) {})
	unserved := &watched{err: &meta.NoKindMatchError{}}
	if returned, err := Follow(t.Context(), unserved, tracked, removed(entry("a", "1")), nil); err != nil || len(returned) > 0 {
		t.Errorf("got %v, %v", returned, err)
	}
	broken := &watched{err: errors.New("broken")}
	if _, err := Follow(t.Context(), broken, tracked, removed(entry("a", "1")), nil); err == nil {
		t.Error("another error is not told")
	}
}
