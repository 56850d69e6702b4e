package render

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/daytwo-dev/daytwo/controllers/internal/render/manifest"
	"github.com/daytwo-dev/daytwo/controllers/internal/render/sandbox"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

// large is a chart whose rendering takes a processor for some time.
func large() entries {
	object := strings.Replace(configMap(`"{{ range until 200 }}{{ . }} {{ end }}"`), "settings", "settings-{{ . }}", 1)
	return valkey("{{ range until 300 }}---\n" + object + "{{ end }}")
}

// keepBusy takes a thread a processor until the test ends.
func keepBusy(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	var loops sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		loops.Go(func() {
			for ctx.Err() == nil {
			}
		})
	}
	t.Cleanup(func() { cancel(); loops.Wait() })
}

// TestTwoLargeChartsRenderAtOnceOnABusyMachine has each chart wait longer for a processor than it may use one.
func TestTwoLargeChartsRenderAtOnceOnABusyMachine(t *testing.T) {
	request := chartRequest(t, large())
	var worker int
	alone := newTestPool(t, Options{Workers: 1, Limits: Limits{Time: time.Hour}})
	alone.onStart = func(pid int) { worker = pid }
	if _, err := alone.RenderChart(context.Background(), request); err != nil {
		t.Fatal(err)
	}
	// Both renderings of the chart together, and a little more.
	limits := Limits{Time: sandbox.ProcessorTime(worker) * 6 / 5}
	keepBusy(t)
	pool := newTestPool(t, Options{Workers: 2, Limits: limits})
	var clusters sync.WaitGroup
	for i := range 2 {
		clusters.Go(func() {
			// Two in a row, so that each worker takes more than the limit in all.
			for range 2 {
				_, err := atLast(func() (*RenderedChart, error) { return pool.RenderChart(context.Background(), request) })
				if err != nil {
					t.Errorf("cluster %d: %v", i, err)
				}
			}
		})
	}
	clusters.Wait()
}

func TestARenderingThatGetsNoProcessorIsNoFaultOfTheChart(t *testing.T) {
	pool := newTestPool(t, Options{Workers: 1, Limits: Limits{Time: 100 * time.Millisecond}})
	pool.onStart = func(pid int) {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Error(err)
		}
	}
	_, err := pool.RenderChart(context.Background(), chartRequest(t, valkey("")))
	if _, atFault := manifest.ReasonOf(err); atFault || !errors.Is(err, ErrMachineBusy) {
		t.Fatalf("got %v, want ErrMachineBusy", err)
	}
	if text := fmt.Sprint(err); !strings.Contains(text, "100ms of processor time within 500ms") || strings.Contains(text, "loop") {
		t.Errorf("it says %s", text)
	}
	pool.onStart = nil
	mustRender(t, pool)
}

// niceValues are those of all threads of a process.
func niceValues(t *testing.T, pid int) map[int]bool {
	return ofThreads(t, pid, func(thread int) (int, error) {
		// The system call returns 20 less the nice value.
		raw, err := unix.Getpriority(unix.PRIO_PROCESS, thread)
		return 20 - raw, err
	})
}

// ofThreads reads something of each thread of a process that has not ended meanwhile.
func ofThreads[V comparable](t *testing.T, pid int, read func(thread int) (V, error)) map[V]bool {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	if err != nil {
		t.Fatal(err)
	}
	found := map[V]bool{}
	for _, thread := range threads {
		id, err := strconv.Atoi(filepath.Base(thread))
		if err != nil {
			t.Fatal(err)
		}
		if value, err := read(id); err == nil {
			found[value] = true
		}
	}
	return found
}

// ownNice is the nice value that a worker begins with.
func ownNice(t *testing.T) int {
	t.Helper()
	raw, err := unix.Getpriority(unix.PRIO_PROCESS, os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	return 20 - raw
}

// TestARenderingThatTakesLongGivesWay looks at each thread: on Linux a priority is a thread's.
func TestARenderingThatTakesLongGivesWay(t *testing.T) {
	const yielding = 10
	pool := newTestPool(t, Options{Workers: 1, Limits: Limits{Time: time.Hour}})
	started := make(chan int, 1)
	pool.onStart = func(pid int) { started <- pid }
	mustRender(t, pool)
	worker := <-started
	if got := niceValues(t, worker); len(got) != 1 || !got[ownNice(t)] {
		t.Errorf("a worker has the nice values %v after a short rendering, want %d", got, ownNice(t))
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() {
		_, err := pool.Render(ctx, inline(endless))
		ended <- err
	}()
	expect.EventuallyTrue(t, "the worker gives way", func(context.Context) (bool, error) {
		got := niceValues(t, worker)
		return len(got) == 1 && got[yielding], nil
	})
	checkSessionNice(t, worker, yielding)
	cancel()
	<-ended
}

// TestAWorkerThatGaveWayIsReplaced has the renderings after a long one find a worker as quick as before.
func TestAWorkerThatGaveWayIsReplaced(t *testing.T) {
	pool := newTestPool(t, Options{Workers: 1, Limits: Limits{Time: time.Hour}})
	started := make(chan int, 2)
	pool.onStart = func(pid int) { started <- pid }
	long := strings.Replace(settings, "{{", "{{ range 40000000 }}{{ end }}{{", 1)
	if _, err := pool.Render(context.Background(), inline(long)); err != nil {
		t.Fatal(err)
	}
	if taken := sandbox.ProcessorTime(<-started); taken != 0 {
		t.Errorf("the worker lives on after a long rendering; it took %s", taken)
	}
	mustRender(t, pool)
	if got := niceValues(t, <-started); len(got) != 1 || !got[ownNice(t)] {
		t.Errorf("the next worker has the nice values %v, want %d", got, ownNice(t))
	}
}

// TestLongRenderingsOfATenantMakeItsNextOnesComeLast looks at each thread, and at the next tenant's too.
func TestLongRenderingsOfATenantMakeItsNextOnesComeLast(t *testing.T) {
	pool := newTestPool(t, Options{Workers: 1, Limits: Limits{Time: courtesy + 500*time.Millisecond}})
	pool.overuse.add("greedy", tolerated, time.Now())
	started := make(chan int, 1)
	pool.onStart = func(pid int) { started <- pid }
	begin := func(tenant, text string) (worker int, end func() error) {
		request := inline(text)
		request.Tenant = tenant
		ended := make(chan error, 1)
		go func() {
			_, err := pool.Render(t.Context(), request)
			ended <- err
		}()
		return <-started, func() error { return <-ended }
	}
	worker, end := begin("greedy", endless)
	if got := policies(t, worker); got[unix.SCHED_IDLE] {
		t.Errorf("before, a rendering has the policies %v", got)
	}
	if reason, _ := manifest.ReasonOf(end()); reason != manifest.TimeLimitExceeded {
		t.Fatalf("a rendering that never ends ends for %q", reason)
	}
	worker, end = begin("greedy", endless)
	if got := policies(t, worker); len(got) != 1 || !got[unix.SCHED_IDLE] {
		t.Errorf("the next rendering has the policies %v", got)
	}
	checkSessionNice(t, worker, 19)
	if end() == nil {
		t.Error("a rendering that never ends has ended")
	}
	worker, end = begin("modest", settings)
	if got := policies(t, worker); got[unix.SCHED_IDLE] {
		t.Errorf("that of another tenant has the policies %v", got)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
}

// TestShortRenderingsNeverComeLast has one worker take more in all than a rendering may before it gives way.
func TestShortRenderingsNeverComeLast(t *testing.T) {
	pool := newTestPool(t, Options{Workers: 1})
	worker := 0
	pool.onStart = func(pid int) {
		if worker != 0 {
			t.Error("the worker was replaced")
		}
		worker = pid
	}
	mustRender(t, pool)
	request := chartRequest(t, valkey(""))
	for !t.Failed() && sandbox.ProcessorTime(worker) < courtesy*3/2 {
		request.Cluster.Labels = map[string]string{"taken": fmt.Sprint(sandbox.ProcessorTime(worker))}
		if _, err := pool.RenderChart(context.Background(), request); err != nil {
			t.Fatal(err)
		}
	}
	if left := pool.overuse.of(request.Cluster.Namespace).TokensAt(time.Now()); left < float64(mostOveruse.Milliseconds()) {
		t.Errorf("of the overuse that counts, %v ms are left", left)
	}
}

// checkSessionNice compares with the nice value of a process's session, where the kernel has such.
func checkSessionNice(t *testing.T, pid, want int) {
	t.Helper()
	told, err := os.ReadFile(fmt.Sprintf("/proc/%d/autogroup", pid))
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	// It has the group's name and the nice value; nothing if sessions count for nothing.
	if text := strings.TrimSpace(string(told)); text != "" && !strings.HasSuffix(text, fmt.Sprint(" nice ", want)) {
		t.Errorf("the session of the worker has %q, want nice %d", text, want)
	}
}

// policies are those by which the threads of a process are scheduled.
func policies(t *testing.T, pid int) map[uint32]bool {
	return ofThreads(t, pid, func(thread int) (uint32, error) {
		is, err := unix.SchedGetAttr(thread, 0)
		if err != nil {
			return 0, err
		}
		return is.Policy, nil
	})
}
