package apply

import (
	"cmp"
	"context"
	"slices"
	"time"

	"k8s.io/utils/clock"

	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/parallel"
)

// DefaultSlice is how long one application of a plan begins with further objects: a cluster that is slow to answer holds
// a worker for that long, and for the requests under way, before others have their turn.
const DefaultSlice = 20 * time.Second

// slice of the work on a plan: what it does not come to is left for the next one.
type slice struct {
	clock clock.PassiveClock
	ends  time.Time
	// first are the objects that the slice before did not come to, and in which order.
	first map[objects.Key]int
	// left are those that this one did not come to, in order.
	left []objects.Key
}

func (a *Applier) newSlice(o Observation) *slice {
	return &slice{clock: a.Clock, ends: a.Clock.Now().Add(cmp.Or(a.Slice, DefaultSlice)), first: o.postponed}
}

// keyed is what is to be done to one object.
type keyed interface{ Key() objects.Key }

// each does what is to be done, at most concurrency of it at a time, and returns what came of it. What the slice before
// left comes first: otherwise objects that have to be done again each time would keep the rest waiting for ever. When the
// slice is over, it begins with no more than the first few of each list. So every slice gets further.
func each[T keyed, R any](ctx context.Context, s *slice, todo []T, do func(context.Context, T) R) []R {
	todo = slices.Clone(todo)
	slices.SortStableFunc(todo, func(a, b T) int { return cmp.Compare(s.rank(a), s.rank(b)) })
	results := parallel.Map(len(todo), concurrency, func(i int) *R {
		if i >= concurrency && s.isOver() {
			return nil
		}
		result := do(ctx, todo[i])
		return &result
	})
	done := make([]R, 0, len(todo))
	for i, result := range results {
		if result == nil {
			s.left = append(s.left, todo[i].Key())
			continue
		}
		done = append(done, *result)
	}
	return done
}

func (s *slice) rank(one keyed) int {
	if at, left := s.first[one.Key()]; left {
		return at
	}
	return len(s.first)
}

func (s *slice) isOver() bool { return !s.clock.Now().Before(s.ends) }
