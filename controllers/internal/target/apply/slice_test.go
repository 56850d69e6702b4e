package apply

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"

	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

type numbered int

func (n numbered) Key() objects.Key { return objects.Key{Name: fmt.Sprintf("%03d", int(n))} }

// TestASliceLeavesTheRestForTheNextWhichBeginsWithIt has each object take longer than the slice, and never succeed.
func TestASliceLeavesTheRestForTheNextWhichBeginsWithIt(t *testing.T) {
	const count = 40
	var todo []numbered
	for i := range count {
		todo = append(todo, numbered(i))
	}
	clock := testingclock.NewFakePassiveClock(noon)
	applier := &Applier{Clock: clock, Slice: time.Second}
	var mu sync.Mutex
	done := map[numbered]int{}
	slow := func(_ context.Context, one numbered) numbered {
		mu.Lock()
		defer mu.Unlock()
		done[one]++
		clock.SetTime(clock.Now().Add(time.Minute))
		return one
	}
	var memory Memory
	for round, left := range []int{24, 8, 0} {
		var o Observation
		o.Recall(memory)
		s := applier.newSlice(o)
		results := each(t.Context(), s, todo, slow)
		if len(results) != 16 || len(s.left) != count-16 {
			t.Fatalf("round %d: %d objects done, %d left", round, len(results), len(s.left))
		}
		if never := count - len(done); never != left {
			t.Fatalf("round %d: %d objects were never begun with, want %d", round, never, left)
		}
		memory.Take(o, Result{Postponed: s.left}, nil)
	}
}

func TestASliceThatIsNotOverDoesAllInOrder(t *testing.T) {
	applier := &Applier{Clock: testingclock.NewFakePassiveClock(noon)}
	s := applier.newSlice(Observation{})
	todo := make([]numbered, 100)
	for i := range todo {
		todo[i] = numbered(i)
	}
	results := each(t.Context(), s, todo, func(_ context.Context, one numbered) numbered { return one })
	if !slices.Equal(results, todo) || len(s.left) > 0 {
		t.Fatalf("%v done, %v left", results, s.left)
	}
}
