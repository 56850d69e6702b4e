package postponed

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daytwo-dev/daytwo/controllers/internal/throttle"
)

var start = time.Date(2026, 11, 26, 10, 0, 0, 0, time.UTC)

func becomes(status metav1.ConditionStatus) throttle.Change {
	ready := func(status metav1.ConditionStatus) []metav1.Condition {
		return []metav1.Condition{{Type: "Ready", Status: status, Reason: "Probed"}}
	}
	other := metav1.ConditionTrue
	if status == other {
		other = metav1.ConditionFalse
	}
	return throttle.Change{Mirrors: true, Before: ready(other), After: ready(status)}
}

// flapped returns the updates of an object that now was seen in both states, the second of which was no news at the start.
func flapped(u *Updates[string]) *Updates[string] {
	u.Wrote(becomes(metav1.ConditionTrue), throttle.Health, start)
	u.Wrote(becomes(metav1.ConditionFalse), throttle.Health, start)
	return u
}

func TestWhatOnlyMirrorsWaitsForTheEndOfThePause(t *testing.T) {
	u := flapped(&Updates[string]{})
	for after, want := range map[time.Duration]time.Duration{
		time.Second: 9 * time.Second, 9 * time.Second: time.Second, 10 * time.Second: 0, time.Minute: 0,
	} {
		if got := u.PutOff("broken", becomes(metav1.ConditionFalse), start.Add(after)); got != want {
			t.Errorf("after %s it waits for %s, want %s", after, got, want)
		}
	}
	asked := becomes(metav1.ConditionFalse)
	asked.Mirrors = false
	if got := u.PutOff("broken", asked, start.Add(time.Second)); got != 0 {
		t.Errorf("what people asked for waits for %s", got)
	}
}

func TestWhatIsLeftIsWrittenOnce(t *testing.T) {
	var memory Memory[string]
	put := func(name, status string) *Updates[string] {
		u := flapped(memory.Of(types.NamespacedName{Namespace: "acme", Name: name}))
		u.PutOff(status, becomes(metav1.ConditionFalse), start.Add(time.Second))
		return u
	}
	put("one", "first")
	put("one", "second")
	put("other", "broken")
	put("written", "meanwhile").Begin()

	var mu sync.Mutex
	wrote := map[string]string{}
	write := func(_ context.Context, object types.NamespacedName, status string) error {
		mu.Lock()
		defer mu.Unlock()
		wrote[object.Name] = status
		if object.Name == "other" {
			return errors.New("the API server is gone")
		}
		return nil
	}
	if err := memory.WriteUnsaved(t.Context(), write); err == nil {
		t.Error("nobody is told that one could not be written")
	}
	if want := map[string]string{"one": "second", "other": "broken"}; !maps.Equal(wrote, want) {
		t.Errorf("wrote %v, want %v", wrote, want)
	}
	clear(wrote)
	if err := memory.WriteUnsaved(t.Context(), write); err != nil || len(wrote) > 0 {
		t.Errorf("wrote %v again, %v", wrote, err)
	}
}

// TestAReconcileThatBeginsMeanwhileWritesItself lets one begin while as many statuses are being written as at a time are.
func TestAReconcileThatBeginsMeanwhileWritesItself(t *testing.T) {
	var memory Memory[string]
	left := map[types.NamespacedName]bool{}
	for i := range parallelWrites + 1 {
		object := types.NamespacedName{Namespace: "acme", Name: fmt.Sprint("object-", i)}
		flapped(memory.Of(object)).PutOff("broken", becomes(metav1.ConditionFalse), start.Add(time.Second))
		left[object] = true
	}
	var mu sync.Mutex
	begun := make(chan struct{})
	if err := memory.WriteUnsaved(t.Context(), func(_ context.Context, object types.NamespacedName, _ string) error {
		mu.Lock()
		delete(left, object)
		if len(left) == 1 {
			for last := range left {
				memory.Of(last).Begin()
			}
			close(begun)
		}
		mu.Unlock()
		<-begun
		return nil
	}); err != nil {
		t.Error(err)
	}
	if len(left) != 1 {
		t.Errorf("of %d statuses all but %d were written, and one was begun anew", parallelWrites+1, len(left))
	}
}
