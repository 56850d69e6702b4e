package render

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"math"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"syscall"
	"text/template"
	"time"
	_ "time/tzdata" // The same zones on every machine: a worker cannot read the machine's.

	"github.com/daytwo-dev/daytwo/controllers/internal/render/functions"
	"github.com/daytwo-dev/daytwo/controllers/internal/render/manifest"
	"github.com/daytwo-dev/daytwo/controllers/internal/render/sandbox"
	"github.com/daytwo-dev/daytwo/controllers/internal/truncate"
)

// WorkerArgument is the first argument that makes the program a worker; see WorkerMain.
const WorkerArgument = "render-worker"

// lastArgument comes after the memory limit of a worker that runs only while nothing else wants the processor.
const lastArgument = "last"

// maxMessage is the length, in bytes, at which an error message is cut: a condition holds 32 KiB
// and a template can make its message as long as it likes.
const maxMessage = 2048

// WorkerMain serves requests on standard input until that is closed, and returns the exit code.
// Arguments are those after WorkerArgument, as a Pool passes them. Nothing else may use standard
// input and output.
func WorkerMain(args []string) int {
	// A signal to the whole process group is for the manager, which may have requests to finish.
	signal.Ignore(os.Interrupt, syscall.SIGTERM)
	shutOff()
	if err := runWorker(args, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// shutOff takes away what libraries would use without being asked. Helm logs values, and what a
// worker writes to standard error tells the manager why it died.
func shutOff() {
	log.SetOutput(io.Discard)
	slog.SetDefault(slog.New(slog.DiscardHandler))
	http.DefaultTransport = noTransport{}
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: noDial}
	time.Local = time.UTC
}

var errNoNetwork = errors.New("a render worker has no network")

// noTransport fails every request.
type noTransport struct{}

func (noTransport) RoundTrip(*http.Request) (*http.Response, error) { return nil, errNoNetwork }

func noDial(context.Context, string, string) (net.Conn, error) { return nil, errNoNetwork }

func runWorker(args []string, in io.Reader, out io.Writer) error {
	if len(args) == 0 || len(args) > 2 || len(args) == 2 && args[1] != lastArgument {
		return fmt.Errorf("%s wants the memory limit in bytes, and perhaps %s: it is started by the manager only", WorkerArgument, lastArgument)
	}
	if len(args) == 2 {
		sandbox.GiveUpPriority()
	}
	memory, err := strconv.ParseInt(args[0], 10, 64)
	if err != nil {
		return fmt.Errorf("read the memory limit: %w", err)
	}
	// The collector works harder well before the kernel refuses memory.
	debug.SetMemoryLimit(memory / 4 * 3)
	debug.SetMaxStack(int(memory / 4))
	w := &worker{functions: functions.All(), out: out}
	if err := sandbox.Confine(memory); err != nil {
		return err
	}
	return w.serve(in)
}

// worker is this process's end of the pipe.
type worker struct {
	functions template.FuncMap
	// frames are those that the manager sends, in order.
	frames chan sandbox.Frame
	out    io.Writer
}

// serve answers one request after the other. It returns as soon as in is closed, even if a
// rendering is under way: then there is nobody left to answer.
func (w *worker) serve(in io.Reader) error {
	if err := sandbox.Write(w.out, sandbox.FrameReady, nil); err != nil {
		return err
	}
	w.frames = make(chan sandbox.Frame)
	failed := make(chan error, 1)
	go func() {
		for request := range w.frames {
			if err := sandbox.Write(w.out, sandbox.FrameReply, w.answer(request.Payload)); err != nil {
				failed <- err
				return
			}
		}
	}()
	reader := bufio.NewReader(in)
	for {
		received, err := sandbox.Read(reader, math.MaxInt32)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case w.frames <- received:
		case err := <-failed:
			return err
		}
	}
}

// answer returns the encoded reply to one request.
func (w *worker) answer(payload []byte) []byte {
	var request task
	if err := json.Unmarshal(payload, &request); err != nil {
		return encodeFailure(manifest.TemplateFailedf("the request cannot be read: %v", err))
	}
	result, failure := w.perform(request)
	if failure != nil {
		return encodeFailure(failure)
	}
	encoded, err := encode(result)
	if err != nil {
		return encodeFailure(manifest.InvalidManifestf("the objects cannot be written as JSON: %v", err))
	}
	if request.Chart == nil && len(encoded) > request.OutputLimit {
		return encodeFailure(outputExceeded(request.OutputLimit))
	}
	return encoded
}

// perform does what is asked. A panic is the template's fault, not the end of the worker; what it
// says may quote the template's values.
func (w *worker) perform(request task) (result reply, failure *manifest.Error) {
	defer func() {
		if recover() != nil {
			failure = manifest.TemplateFailedf("the templates make the renderer panic: simplify them until they render")
		}
	}()
	if request.Chart != nil {
		archive := <-w.frames
		return w.performChart(request, archive.Payload)
	}
	result.Objects, failure = renderAll(w.functions, request)
	return result, failure
}

// renderAll renders all sources and collects their objects.
func renderAll(allowed template.FuncMap, request task) ([]map[string]any, *manifest.Error) {
	collected := manifest.NewCollector()
	executed := executor{functions: allowed, values: request.Cluster.values(), limit: request.OutputLimit}
	if request.ParseOnly {
		return nil, executed.parseAll(request.Sources)
	}
	if _, failure := mergeLayers(request.Values, &executed); failure != nil {
		return nil, failure
	}
	for _, source := range request.Sources {
		text, failure := executed.execute(source)
		if failure != nil {
			return nil, failure
		}
		if failure := collected.AddSource(source.Name, text, source.isTemplate()); failure != nil {
			return nil, failure
		}
	}
	return collected.Objects, nil
}

func encodeFailure(failure *manifest.Error) []byte {
	encoded, err := encode(reply{Failure: &manifest.Error{Reason: failure.Reason, Message: truncate.Cut(failure.Message, maxMessage)}})
	if err != nil {
		// Two strings can always be written as JSON.
		panic(err)
	}
	return encoded
}
