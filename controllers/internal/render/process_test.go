package render

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/daytwo-dev/daytwo/controllers/internal/render/sandbox"
)

func TestAWorkerEndsWithItsManagerEvenWhileItRenders(t *testing.T) {
	w, err := startProcess(context.Background(), Limits{}.withDefaults().Memory, false)
	if err != nil {
		t.Fatal(err)
	}
	request, err := json.Marshal(task{Sources: inline(endless).Sources})
	if err != nil {
		t.Fatal(err)
	}
	if err := sandbox.Write(w.input, sandbox.FrameRequest, request); err != nil {
		t.Fatal(err)
	}
	// The kernel does this when the manager dies.
	if err := w.input.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.command.Wait(); err != nil {
		t.Errorf("the worker ended with %v, want exit code 0", err)
	}
}

func TestAWorkerSaysWhyItCannotStart(t *testing.T) {
	if err := runWorker(nil, nil, nil); err == nil {
		t.Error("a worker without a memory limit started")
	}
	if err := runWorker([]string{"lots"}, nil, nil); err == nil {
		t.Error("a worker with a senseless memory limit started")
	}
	if err := runWorker([]string{"1", "first"}, nil, nil); err == nil {
		t.Error("a worker with an argument that there is not started")
	}
}
