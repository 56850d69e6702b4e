package render

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/daytwo-dev/daytwo/controllers/internal/render/manifest"
)

// Templates of the worst sorts. None of them ends by itself in any time worth waiting for.
const (
	endless     = `{{ range 1000000000 }}{{ range 1000000000 }}{{ end }}{{ end }}`
	tooMuch     = `{{ range 100 }}{{ range 1024 }}{{ template "kib" }}{{ end }}{{ end }}{{ define "kib" }}{{ printf "%1024s" "x" }}{{ end }}`
	memoryHog   = `{{ $s := "x" }}{{ range 40 }}{{ $s = print $s $s }}{{ end }}`
	oneBigAlloc = `{{ indent 1000000000 "x" }}`
	stringBomb  = `{{ $s := printf "%1000000s" "x" }}a: &a {{ quote $s }}
b: [{{ range 2000 }}*a, {{ end }}]`
	recursion = `{{ define "a" }}{{ template "a" }}{{ end }}{{ template "a" }}`
)

func TestRenderStopsWhatExceedsALimit(t *testing.T) {
	for name, test := range map[string]struct {
		text   string
		limits Limits
		want   manifest.Reason
	}{
		"endless loop":             {endless, Limits{Time: 300 * time.Millisecond}, manifest.TimeLimitExceeded},
		"100 MiB of output":        {tooMuch, Limits{Time: time.Hour}, manifest.OutputLimitExceeded},
		"output over a lower mark": {settings, Limits{Output: len(settings)}, manifest.OutputLimitExceeded},
		"too large a template":     {"# " + strings.Repeat("x", 100), Limits{Output: 100}, manifest.OutputLimitExceeded},
		"growing value":            {memoryHog, Limits{Time: time.Hour}, manifest.MemoryLimitExceeded},
		"one huge value":           {oneBigAlloc, Limits{Time: time.Hour}, manifest.MemoryLimitExceeded},
		"YAML alias bomb":          {stringBomb, Limits{Time: time.Hour}, manifest.MemoryLimitExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := newTestPool(t, Options{Workers: 1, Limits: test.limits})
			_, err := atLast(func() ([]*unstructured.Unstructured, error) {
				return pool.Render(context.Background(), inline(test.text))
			})
			if reason, _ := manifest.ReasonOf(err); reason != test.want {
				t.Fatalf("got reason %q (%v), want %s", reason, err, test.want)
			}
		})
	}
}

func TestRenderStopsEndlessRecursion(t *testing.T) {
	pool := newTestPool(t, Options{Workers: 1, Limits: Limits{Time: time.Hour}})
	_, err := pool.Render(context.Background(), inline(recursion))
	// Which limit it meets first, the depth or the memory, is the Go version's to decide.
	if reason, _ := manifest.ReasonOf(err); reason != manifest.TemplateFailed && reason != manifest.MemoryLimitExceeded {
		t.Errorf("got %v", err)
	}
	mustRender(t, pool)
}

func TestPoolRendersAfterEachKilledWorker(t *testing.T) {
	pool := newTestPool(t, Options{Workers: 1, Limits: Limits{Time: time.Hour}})
	for _, text := range []string{memoryHog, oneBigAlloc, tooMuch} {
		if _, err := pool.Render(context.Background(), inline(text)); err == nil {
			t.Fatal("a bad request succeeded")
		}
		mustRender(t, pool)
	}
}

// TestEndlessRenderingsOfATenantHoldNobodyElseUp has a tenant ask for far more than there are workers.
func TestEndlessRenderingsOfATenantHoldNobodyElseUp(t *testing.T) {
	const endlessRenderings = 64
	pool := newTestPool(t, Options{Workers: 2, Limits: Limits{Time: time.Hour}})
	started := make(chan int, 2)
	pool.onStart = func(pid int) { started <- pid }
	ctx, cancel := context.WithCancel(context.Background())
	slow := make(chan error)
	for range endlessRenderings {
		go func() {
			request := inline(endless)
			request.Cluster.Namespace = "greedy"
			_, err := pool.Render(ctx, request)
			slow <- err
		}()
	}
	<-started
	for range 20 {
		mustRender(t, pool)
	}
	cancel()
	for range endlessRenderings {
		if err := <-slow; !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled rendering returned %v", err)
		}
	}
}

func TestACallerThatWaitsForAWorkerCanLeave(t *testing.T) {
	pool := newTestPool(t, Options{Workers: 1, Limits: Limits{Time: time.Hour}})
	started := make(chan int, 1)
	pool.onStart = func(pid int) { started <- pid }
	busy, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		// Cancelled below; the other tests look at what it returns.
		_, _ = pool.Render(busy, inline(endless))
	}()
	<-started
	waiting, leave := context.WithCancel(context.Background())
	leave()
	if _, err := pool.Render(waiting, inline(settings)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	stop()
	<-done
}

func kill(t *testing.T, pid int) {
	t.Helper()
	process, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Kill(); err != nil {
		t.Fatal(err)
	}
}

func TestAWorkerKilledWhileItRendersIsReplacedOnce(t *testing.T) {
	pool := newTestPool(t, Options{Workers: 1, Limits: Limits{Time: time.Hour}})
	started := make(chan int)
	pool.onStart = func(pid int) { started <- pid }
	result := make(chan error)
	go func() {
		_, err := pool.Render(context.Background(), inline(endless))
		result <- err
	}()
	first := <-started
	kill(t, first)
	second := <-started
	if first == second {
		t.Fatal("no new worker was started")
	}
	kill(t, second)
	err := <-result
	if _, atFault := manifest.ReasonOf(err); atFault || !errors.Is(err, ErrWorkerLost) {
		t.Errorf("got %v, want ErrWorkerLost", err)
	}
}

func TestAWorkerKilledWhileIdleIsNotNoticed(t *testing.T) {
	pool := newTestPool(t, Options{Workers: 1, Limits: Limits{Time: time.Hour}})
	started := make(chan int, 2)
	pool.onStart = func(pid int) { started <- pid }
	mustRender(t, pool)
	kill(t, <-started)
	mustRender(t, pool)
}

func TestManyCallersShareFewWorkers(t *testing.T) {
	pool := newTestPool(t, Options{Workers: 2})
	var mu sync.Mutex
	workers := 0
	pool.onStart = func(int) { mu.Lock(); defer mu.Unlock(); workers++ }
	var group sync.WaitGroup
	for i := range 50 {
		group.Go(func() {
			request := inline(settings)
			request.Cluster.Name = fmt.Sprintf("cluster-%d", i)
			objects, err := pool.Render(context.Background(), request)
			if err != nil {
				t.Error(err)
				return
			}
			if data := fmt.Sprint(objects[0].Object["data"]); !strings.Contains(data, request.Cluster.Name+"]") {
				t.Errorf("%s got another's answer: %s", request.Cluster.Name, data)
			}
		})
	}
	group.Wait()
	if workers > 2 {
		t.Errorf("%d workers were started, want at most 2", workers)
	}
}

func TestRenderingIsDeterministic(t *testing.T) {
	pool := newTestPool(t, Options{Workers: 2})
	request := inline(`apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data:
  labels: {{ toJson .Cluster.Labels | squote }}
  list: {{ range $name, $value := dict "b" 1 "a" 2 "c" 3 }}{{ $name }}{{ $value }}{{ end }}
`)
	var first []byte
	for range 20 {
		objects, err := pool.Render(context.Background(), request)
		if err != nil {
			t.Fatal(err)
		}
		encoded, err := json.Marshal(objects)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = encoded
		}
		if string(encoded) != string(first) {
			t.Fatalf("two renderings differ:\n%s\n%s", first, encoded)
		}
	}
}

func TestAClosedPoolRefuses(t *testing.T) {
	pool := NewPool(Options{})
	mustRender(t, pool)
	pool.Close()
	pool.Close()
	if _, err := pool.Render(context.Background(), inline(settings)); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
}

func BenchmarkRender(b *testing.B) {
	pool := newTestPool(b, Options{Workers: 1})
	request := inline(tenObjects())
	for b.Loop() {
		if _, err := pool.Render(context.Background(), request); err != nil {
			b.Fatal(err)
		}
	}
}

func tenObjects() string {
	var text strings.Builder
	for i := range 10 {
		fmt.Fprintf(&text, "---\n%s", strings.Replace(settings, "settings", fmt.Sprintf("settings-%d", i), 1))
	}
	return text.String()
}
