package parallel

import (
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestResultsComeByIndexAndNoMoreThanTheLimitAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const count, limit = 20, 3
		var running, most atomic.Int32
		start := time.Now()
		got := Map(count, limit, func(i int) int {
			most.Store(max(most.Load(), running.Add(1)))
			time.Sleep(time.Duration(count-i) * time.Second) // The clock of the test is fake: the first ends last.
			running.Add(-1)
			return i * i
		})
		want := make([]int, count)
		for i := range want {
			want[i] = i * i
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %v", got)
		}
		if most.Load() != limit {
			t.Errorf("%d ran at a time, and not %d", most.Load(), limit)
		}
		if one := count * (count + 1) / 2 * time.Second; time.Since(start) >= one {
			t.Errorf("it took as long as one after the other: %s", time.Since(start))
		}
	})
}

func TestNothingIsDoneForNothing(t *testing.T) {
	if got := Map(0, 1, func(int) int { t.Error("called"); return 0 }); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}
