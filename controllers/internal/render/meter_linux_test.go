package render

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/daytwo-dev/daytwo/controllers/internal/render/manifest"
	"github.com/daytwo-dev/daytwo/controllers/internal/render/sandbox"
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
