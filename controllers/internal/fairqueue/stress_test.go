package fairqueue

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestUnderLoadEveryKeyIsWorkedOnAfterItWasAddedLast has many goroutines add keys while workers work.
func TestUnderLoadEveryKeyIsWorkedOnAfterItWasAddedLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const keys = 60
		q := newQueue(t, 8)
		var wanted, working [keys]atomic.Int64
		index := map[string]int{}
		for i := range keys {
			index[stressKey(i)] = i
		}
		var w worker
		for range 8 {
			go w.work(q, func(key string) {
				i := index[key]
				if working[i].Add(1) > 1 {
					t.Errorf("%s is with two workers", key)
				}
				seen := wanted[i].Load()
				time.Sleep(time.Millisecond)
				wanted[i].Add(-seen)
				working[i].Add(-1)
			})
		}
		var adding sync.WaitGroup
		for range 10 {
			adding.Go(func() {
				for range 200 {
					i := rand.IntN(keys)
					wanted[i].Add(1)
					if rand.IntN(3) == 0 {
						q.AddAfter(stressKey(i), time.Duration(rand.IntN(5000))*time.Microsecond)
					} else {
						q.Add(stressKey(i))
					}
					time.Sleep(time.Duration(rand.IntN(500)) * time.Microsecond)
				}
			})
		}
		adding.Wait()
		time.Sleep(time.Minute)
		for i := range keys {
			if left := wanted[i].Load(); left != 0 {
				t.Errorf("%s was added %d times after it was worked on last", stressKey(i), left)
			}
		}
	})
}

// stressKey is a key of one of five tenants.
func stressKey(i int) string { return fmt.Sprintf("%c/%d", 'a'+i%5, i) }
