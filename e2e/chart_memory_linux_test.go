package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// weighEvery is often enough to see a worker grow.
const weighEvery = 20 * time.Millisecond

// weight is what the manager and the processes below it hold in memory, in bytes.
type weight struct {
	manager int64
	workers []int64
}

func (w weight) total() int64 {
	total := w.manager
	for _, worker := range w.workers {
		total += worker
	}
	return total
}

func (w weight) String() string {
	text := fmt.Sprintf("%d MiB (manager %d", w.total()>>20, w.manager>>20)
	for _, worker := range w.workers {
		text += fmt.Sprintf(", worker %d", worker>>20)
	}
	return text + ")"
}

// scale weighs the manager and all processes below it, again and again.
type scale struct {
	before weight

	mu   sync.Mutex
	peak weight
	seen int
}

// weigh goes on until the test ends.
func weigh(t testing.TB) *scale {
	t.Helper()
	s := &scale{before: managerWeight()}
	if s.before.manager == 0 {
		t.Fatal("the manager cannot be weighed")
	}
	done := make(chan struct{})
	var ended sync.WaitGroup
	t.Cleanup(func() { close(done); ended.Wait() })
	ended.Go(func() {
		tick := time.NewTicker(weighEvery)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				s.look()
			}
		}
	})
	return s
}

func (s *scale) look() {
	now := managerWeight()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen++
	if now.total() > s.peak.total() {
		s.peak = now
	}
}

// expectWithin fails if there ever was so much more than before, in bytes.
func (s *scale) expectWithin(t testing.TB, bound int64) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	t.Logf("before: %s; at most, of %d looks: %s; now: %s", s.before, s.seen, s.peak, managerWeight())
	if grown := s.peak.total() - s.before.total(); grown > bound {
		t.Errorf("they took %d MiB more than before, which is more than %d MiB", grown>>20, bound>>20)
	}
}

// managerWeight counts what two processes share twice, and those that end meanwhile not at all.
func managerWeight() weight {
	root := env.Manager.PID()
	now := weight{manager: resident(root)}
	for _, below := range descendants(root) {
		now.workers = append(now.workers, resident(below))
	}
	return now
}

func descendants(pid int) []int {
	var all []int
	tasks, _ := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task", "*", "children"))
	for _, task := range tasks {
		children, _ := os.ReadFile(task)
		for _, child := range strings.Fields(string(children)) {
			if below, err := strconv.Atoi(child); err == nil {
				all = append(append(all, below), descendants(below)...)
			}
		}
	}
	return all
}

// resident is the second field of statm, which counts pages.
func resident(pid int) int64 {
	var size, pages int64
	content, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "statm"))
	_, _ = fmt.Sscan(string(content), &size, &pages)
	return pages * int64(os.Getpagesize())
}
