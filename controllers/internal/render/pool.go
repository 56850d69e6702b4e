package render

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/daytwo-dev/daytwo/controllers/internal/fairshare"
	"github.com/daytwo-dev/daytwo/controllers/internal/render/manifest"
	"github.com/daytwo-dev/daytwo/controllers/internal/render/sandbox"
)

var (
	// ErrWorkerLost means that worker processes could not be started, or died for a reason that
	// has nothing to do with the request as far as can be told. Another try may succeed.
	ErrWorkerLost = errors.New("render worker lost")
	// ErrMachineBusy means that the rendering was stopped because it lasted too long, though it took
	// less than it may: the machine had other things to do. Another try may succeed.
	ErrMachineBusy = errors.New("the machine is too busy to render")
	// ErrClosed means that the Pool was closed.
	ErrClosed = errors.New("render pool is closed")
)

// startTime bounds the start of a worker, which takes some 20 ms on an idle machine.
const startTime = 30 * time.Second

// Options of a Pool. The zero value is the default.
type Options struct {
	// Workers is how many worker processes render at a time at most; if zero, two a processor, at least 4 and
	// at most 8. One tenant gets a quarter of them at most, but two in any case, and no more than half the number of processors, but
	// one in any case. An idle one holds some 10 MiB beyond the program, which all share.
	Workers int
	// Limits of each request.
	Limits Limits
}

func (o Options) withDefaults() Options {
	if o.Workers <= 0 {
		o.Workers = min(max(4, 2*runtime.GOMAXPROCS(0)), 8)
	}
	o.Limits = o.Limits.withDefaults()
	return o
}

// Request is everything that the result of a rendering depends on.
type Request struct {
	// Sources are rendered in this order.
	Sources []Source
	// Values are layers of a chart's values, whose templates are executed though the chart is not there. They give no objects.
	Values []ValuesLayer
	// ParseOnly: the templates of Sources are read and not executed, those of Values are not looked at, and nothing comes of it but an error.
	ParseOnly bool
	// Cluster that is rendered for.
	Cluster Cluster
	// Tenant whose share of the workers is used; the namespace of the cluster if empty.
	Tenant string
}

// Pool renders in worker processes, which it starts when they are first needed, uses again, and
// replaces when they die. It may be used by any number of goroutines; those that find all
// workers busy, or those that their tenant may have, wait for their turn: tenant by tenant, and of one tenant in the
// order in which they came.
type Pool struct {
	limits Limits
	turns  *fairshare.Turns
	// overuse decides whose renderings come last.
	overuse *overuse
	// open ends when the pool is closed.
	open    context.Context
	end     context.CancelFunc
	callers sync.WaitGroup

	mu   sync.Mutex
	idle []*process

	// onStart, if not nil, is told the process ID of each worker when that is ready.
	onStart func(pid int)
}

// NewPool returns a Pool that has started nothing yet. Close it when it is no longer needed.
func NewPool(options Options) *Pool {
	options = options.withDefaults()
	open, end := context.WithCancel(context.Background())
	return &Pool{limits: options.Limits, turns: fairshare.NewTurns(options.shares()), overuse: newOveruse(), open: open, end: end}
}

// Render returns the objects that the sources render to, in their order, checked and cleaned:
// each has apiVersion, kind and metadata.name, and none is there twice (namespaces as written:
// two manifests, one of which leaves the namespace to a default, count as two objects). It ends
// early when ctx is done. ReasonOf tells a request that is at fault from an error that the next
// try may mend.
func (p *Pool) Render(ctx context.Context, request Request) ([]*unstructured.Unstructured, error) {
	payload, err := p.encode(request)
	if err != nil {
		return nil, err
	}
	answer, err := p.exchange(ctx, order{tenant: cmp.Or(request.Tenant, request.Cluster.Namespace), task: payload, maxReply: p.maxReply()})
	if err != nil {
		return nil, err
	}
	result, err := decodeReply(answer)
	if err != nil {
		return nil, err
	}
	return asUnstructured(result.Objects), nil
}

// Close waits for the requests that have a worker, refuses those that wait for one and all later
// ones, and ends the workers. It may be called more than once.
func (p *Pool) Close() {
	p.mu.Lock()
	p.end()
	p.mu.Unlock()
	p.callers.Wait()
	for w := p.takeIdle(); w != nil; w = p.takeIdle() {
		w.reap()
	}
}

func (p *Pool) encode(request Request) ([]byte, error) {
	length := 0
	for _, source := range request.Sources {
		length += len(source.Text)
		if !utf8.ValidString(source.Text) {
			return nil, manifest.InvalidManifestf("%s is not UTF-8 text: save it as UTF-8, and keep binary content out of manifests", source.Name)
		}
	}
	if length > p.limits.Output {
		return nil, inputExceeded(p.limits.Output)
	}
	if failure := checkLayers(request.Values, p.limits.Output); failure != nil {
		return nil, failure
	}
	return encode(task{
		Sources: request.Sources, Values: request.Values, ParseOnly: request.ParseOnly, Cluster: request.Cluster, OutputLimit: p.limits.Output,
	})
}

// exchange waits for a worker and has it answer. A worker that was lost through no fault of the
// request is replaced once, by a new one: all idle ones may have met the same end.
func (p *Pool) exchange(ctx context.Context, o order) ([]byte, error) {
	if !p.enter() {
		return nil, ErrClosed
	}
	defer p.callers.Done()
	release, err := p.turn(ctx, o.tenant)
	if err != nil {
		return nil, err
	}
	defer release()
	o.last = p.overuse.isTooMuch(o.tenant, time.Now())
	var w *process // One that comes last is always a new one.
	if !o.last {
		w = p.takeIdle()
	}
	answer, err := p.try(ctx, w, o)
	if errors.Is(err, ErrWorkerLost) && ctx.Err() == nil {
		return p.try(ctx, nil, o)
	}
	return answer, err
}

// try has one worker answer, a new one if w is nil.
func (p *Pool) try(ctx context.Context, w *process, o order) ([]byte, error) {
	if w == nil {
		started, err := p.start(ctx, o.last)
		if err != nil {
			return nil, err
		}
		w = started
	}
	limited, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	release := context.AfterFunc(limited, w.kill)
	measured := startMeter(p.limits, w, cancel)
	answer, err := w.exchange(limited, o, measured)
	p.overuse.add(o.tenant, measured.stop(), time.Now())
	if release() && err == nil && !w.gaveWay {
		p.putIdle(w)
		return answer, nil
	}
	end := w.reap()
	if err == nil {
		// It gave way, or the limit was reached when the answer was there already.
		return answer, nil
	}
	return nil, p.explain(limited, w, fmt.Errorf("%w (%s)", err, end))
}

func (p *Pool) start(ctx context.Context, last bool) (*process, error) {
	limited, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	w, err := startProcess(limited, p.limits.Memory, last)
	if ctx.Err() != nil {
		if err == nil {
			w.reap()
		}
		return nil, fmt.Errorf("start a render worker: %w", context.Cause(ctx))
	}
	if err != nil {
		return nil, fmt.Errorf("%w: start: %w", ErrWorkerLost, err)
	}
	if p.onStart != nil {
		p.onStart(w.command.Process.Pid)
	}
	return w, nil
}

// maxReply leaves room for what is around the objects, and for a failure. The worker holds the
// limit itself; this is for one that does not.
func (p *Pool) maxReply() int { return p.limits.Output + 16*1024 }

// explain says why a dead worker did not answer.
func (p *Pool) explain(limited context.Context, w *process, err error) error {
	if limited.Err() != nil {
		return fmt.Errorf("render: %w", context.Cause(limited))
	}
	if errors.Is(err, sandbox.ErrFrameTooLarge) {
		return outputExceeded(p.limits.Output)
	}
	if w.ranOutOfMemory() {
		return p.limits.memoryExceeded()
	}
	return fmt.Errorf("%w: %w", ErrWorkerLost, err)
}

// takeIdle returns the worker that was busy last, whose memory is warm, or nil.
func (p *Pool) takeIdle() *process {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) == 0 {
		return nil
	}
	last := len(p.idle) - 1
	w := p.idle[last]
	p.idle = p.idle[:last]
	return w
}

func (p *Pool) putIdle(w *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, w)
}
