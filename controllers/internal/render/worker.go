package render

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"text/template"
)

// WorkerArgument is the first argument that makes the program a worker; see WorkerMain.
const WorkerArgument = "render-worker"

// maxMessage is the length, in bytes, at which an error message is cut: a condition holds 32 KiB
// and a template can make its message as long as it likes.
const maxMessage = 2048

// WorkerMain serves requests on standard input until that is closed, and returns the exit code.
// Arguments are those after WorkerArgument, as a Pool passes them. Nothing else may use standard
// input and output.
func WorkerMain(args []string) int {
	// A signal to the whole process group is for the manager, which may have requests to finish.
	signal.Ignore(os.Interrupt, syscall.SIGTERM)
	if err := runWorker(args, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func runWorker(args []string, in io.Reader, out io.Writer) error {
	if len(args) != 1 {
		return fmt.Errorf("%s wants one argument, the memory limit in bytes: it is started by the manager only", WorkerArgument)
	}
	memory, err := strconv.ParseInt(args[0], 10, 64)
	if err != nil {
		return fmt.Errorf("read the memory limit: %w", err)
	}
	// The collector works harder well before the kernel refuses memory.
	debug.SetMemoryLimit(memory / 4 * 3)
	debug.SetMaxStack(int(memory / 4))
	allowed := functions()
	if err := limitProcess(memory); err != nil {
		return err
	}
	return serve(allowed, in, out)
}

// serve answers one request after the other. It returns as soon as in is closed, even if a
// rendering is under way: then there is nobody left to answer.
func serve(allowed template.FuncMap, in io.Reader, out io.Writer) error {
	// An empty frame tells that the worker is ready.
	if err := writeFrame(out, nil); err != nil {
		return err
	}
	requests := make(chan []byte)
	failed := make(chan error, 1)
	go func() {
		for payload := range requests {
			if err := writeFrame(out, answer(allowed, payload)); err != nil {
				failed <- err
				return
			}
		}
	}()
	reader := bufio.NewReader(in)
	for {
		payload, err := readFrame(reader, math.MaxInt32)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case requests <- payload:
		case err := <-failed:
			return err
		}
	}
}

// answer returns the encoded reply to one request.
func answer(allowed template.FuncMap, payload []byte) []byte {
	var request task
	if err := json.Unmarshal(payload, &request); err != nil {
		return encodeFailure(templateFailed("the request cannot be read: %v", err))
	}
	objects, failure := renderAll(allowed, request)
	if failure != nil {
		return encodeFailure(failure)
	}
	encoded, err := encode(reply{Objects: objects})
	if err != nil {
		return encodeFailure(invalidManifest("the objects cannot be written as JSON: %v", err))
	}
	if len(encoded) > request.OutputLimit {
		return encodeFailure(outputExceeded(request.OutputLimit))
	}
	return encoded
}

// renderAll renders all sources and collects their objects. A panic is the template's fault, not
// the end of the worker; what it says may quote the template's values.
func renderAll(allowed template.FuncMap, request task) (objects []map[string]any, failure *Error) {
	defer func() {
		if recover() != nil {
			failure = templateFailed("the manifests make the renderer panic: simplify the template until it renders")
		}
	}()
	collected := collector{seen: map[objectKey]string{}}
	executed := executor{functions: allowed, values: request.Cluster.values(), limit: request.OutputLimit}
	for _, source := range request.Sources {
		text, failure := executed.execute(source)
		if failure != nil {
			return nil, failure
		}
		if failure := collected.addSource(source.Name, text); failure != nil {
			return nil, failure
		}
	}
	return collected.objects, nil
}

func truncate(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxMessage], "") + "…"
}

func encodeFailure(failure *Error) []byte {
	encoded, err := encode(reply{Failure: &Error{failure.Reason, truncate(failure.Message)}})
	if err != nil {
		// Two strings can always be written as JSON.
		panic(err)
	}
	return encoded
}

// encode writes JSON without the escapes for HTML, which make six bytes of one.
func encode(value any) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return buffer.Bytes(), err
}
