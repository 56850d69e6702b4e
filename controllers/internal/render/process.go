package render

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/daytwo-dev/daytwo/controllers/internal/render/sandbox"
)

// process is the manager's end of one worker. It serves one request at a time.
type process struct {
	command *exec.Cmd
	input   io.WriteCloser
	output  *bufio.Reader
	errors  *headBuffer
	// gaveWay is whether it has a lower priority than others, which it keeps.
	gaveWay bool
}

// startProcess starts a worker and waits until it is ready, or ctx is done. One that comes last runs only while nothing else wants the
// processor.
func startProcess(ctx context.Context, memory int64, last bool) (*process, error) {
	path, err := sandbox.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	arguments := []string{WorkerArgument, strconv.FormatInt(memory, 10)}
	if last {
		arguments = append(arguments, lastArgument)
	}
	w := &process{command: exec.Command(path, arguments...), errors: &headBuffer{}, gaveWay: last}
	// Nothing of the manager's environment reaches a template. One processor a worker keeps a
	// hostile rendering from taking more than its share.
	w.command.Env = []string{"GOMAXPROCS=1", "GOTRACEBACK=none"}
	w.command.Stderr = w.errors
	w.command.SysProcAttr = sandbox.OwnSession()
	if w.input, err = w.command.StdinPipe(); err != nil {
		return nil, err
	}
	output, err := w.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	w.output = bufio.NewReader(output)
	if err := w.command.Start(); err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, w.kill)()
	if _, err := sandbox.Expect(w.output, sandbox.FrameReady, 0); err != nil {
		return nil, fmt.Errorf("wait until it is ready: %w (%s)", err, w.reap())
	}
	return w, nil
}

// order is a request on its way to a worker.
type order struct {
	// tenant whose turn it is.
	tenant string
	// last: it may wait for whatever else wants the processor.
	last bool
	task []byte
	// archive of a chart, which the task says follows.
	archive []byte
	// lookups that the task offers, or nil.
	lookups *lookups
	// maxReply in bytes.
	maxReply int
}

// exchange sends an order, answers lookups, and returns the reply. It fails when the worker dies or
// replies with more than it may; the worker is of no use then. Lookups end when ctx does. The meter is told
// of them, and when the worker renders for the second time.
func (w *process) exchange(ctx context.Context, o order, measured *meter) ([]byte, error) {
	o.lookups.begin()
	if err := sandbox.Write(w.input, sandbox.FrameRequest, o.task); err != nil {
		return nil, err
	}
	if o.archive != nil {
		if err := sandbox.Write(w.input, sandbox.FrameArchive, o.archive); err != nil {
			return nil, err
		}
	}
	for renderings := 1; ; {
		received, err := sandbox.Read(w.output, o.maxReply)
		if err != nil || received.Kind == sandbox.FrameReply {
			return received.Payload, err
		}
		if received.Kind == sandbox.FrameAgain && o.archive != nil && renderings == 1 {
			renderings++
			measured.begin()
			continue
		}
		if received.Kind != sandbox.FrameLookup {
			return nil, fmt.Errorf("got a frame of kind %d, want a reply or a lookup", received.Kind)
		}
		answered := measured.lookup()
		found, err := o.lookups.answer(ctx, received.Payload)
		answered()
		if err != nil {
			return nil, err
		}
		if err := sandbox.Write(w.input, sandbox.FrameFound, found); err != nil {
			return nil, err
		}
	}
}

// processorTime is what the worker has taken since it was started; zero if that cannot be told.
func (w *process) processorTime() time.Duration { return sandbox.ProcessorTime(w.command.Process.Pid) }

// giveWay lets everything else on the machine go before the worker, from now on. It must not be called once another request can begin.
func (w *process) giveWay() {
	if !w.gaveWay {
		w.gaveWay = true
		sandbox.GiveWay(w.command.Process.Pid)
	}
}

// kill ends the worker at once, whatever it does. It may be called at any time.
func (w *process) kill() {
	// The only error is that the process has ended already.
	_ = w.command.Process.Kill()
}

// reap kills the worker, waits for its end, and returns how it ended.
func (w *process) reap() string {
	w.kill()
	// The error repeats the state.
	_ = w.command.Wait()
	first, _, _ := strings.Cut(w.errors.String(), "\n")
	return strings.TrimSuffix(w.command.ProcessState.String()+": "+first, ": ")
}

// ranOutOfMemory reports whether the worker said so before it died. The words are those of the
// Go runtime (malloc.go, stack.go, os_linux.go), its cgo part, and the race detector. A SIGSEGV
// is the garbage collector's, which does not check all of its own allocations; one in Go code
// would be a panic, which the worker survives. To be called after reap.
func (w *process) ranOutOfMemory() bool {
	said := w.errors.String()
	for _, words := range []string{
		"out of memory", "cannot allocate memory", "stack overflow", "failed to allocate",
		"failed to create new OS thread", "pthread_create failed", "SIGSEGV",
	} {
		if strings.Contains(said, words) {
			return true
		}
	}
	return false
}

// headBuffer keeps the first 4 KiB of what is written to it, and takes the rest.
type headBuffer struct {
	head bytes.Buffer
}

func (b *headBuffer) Write(p []byte) (int, error) {
	const limit = 4096
	b.head.Write(p[:min(len(p), limit-b.head.Len())])
	return len(p), nil
}

func (b *headBuffer) String() string { return b.head.String() }
