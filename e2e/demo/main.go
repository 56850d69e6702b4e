package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
)

// stateDir is the demo's own, relative to the working directory as in the commands that it prints.
const stateDir = ".daytwo-demo"

// Exit codes; the one after an interrupt is a shell's for SIGINT.
const (
	succeeded   = 0
	failed      = 1
	interrupted = 130
)

func main() {
	manager := flag.String("manager", "", "path of the manager's binary; built if empty")
	keep := flag.Bool("keep", false, "leave the fleet running, with all that the story made")
	flag.Parse()
	quietLibraries()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second Ctrl-C does not wait for the first one's cleaning up.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, newScreen(os.Stdout), *manager, *keep))
}

// run tells the story and leaves nothing behind, except logs when it went wrong. A fleet that is kept stays if nothing did.
func run(ctx context.Context, screen *screen, manager string, keep bool) int {
	err := clean(ctx)
	if err == nil {
		err = tell(ctx, screen, manager, keep)
	}
	if err == nil && keep && ctx.Err() == nil {
		showKept(screen)
		return succeeded
	}
	if err != nil && ctx.Err() == nil {
		err = errors.Join(err, localfleet.Down(context.WithoutCancel(ctx), stateDir))
		screen.Failure(err, filepath.Join(stateDir, "logs"))
		return failed
	}
	if cleanErr := clean(context.WithoutCancel(ctx)); cleanErr != nil {
		screen.Failure(cleanErr, stateDir)
		return failed
	}
	if ctx.Err() != nil {
		screen.Line("Interrupted. All processes have ended, and " + stateDir + " is removed.")
		return interrupted
	}
	screen.Line("All processes have ended, and " + stateDir + " is removed.")
	return succeeded
}

// tell starts, runs and ends the story.
func tell(ctx context.Context, screen *screen, manager string, keep bool) (err error) {
	screen.Line(screen.paint(bold, "Daytwo, on this machine: three customers' clusters, each with real Kubernetes API servers, and one manager."))
	s := newStory(screen, manager, keep)
	defer func() { err = errors.Join(err, s.close()) }()
	for i, step := range s.steps() {
		screen.Heading(fmt.Sprintf("%d. %s", i+1, step.title))
		if err := s.take(ctx, step); err != nil {
			return fmt.Errorf("step %d, %q: %w%s", i+1, step.title, err, s.vitals())
		}
	}
	s.sumUp()
	return nil
}

// showKept says what to do with a fleet that was kept.
func showKept(screen *screen) {
	local := "bin/local --state-dir " + stateDir
	screen.Line("The fleet goes on. Look at it, change something in a cluster, and end it:")
	screen.Command(local + " status")
	screen.Command(kubectl() + " get daytwo,daytwo-targets -A")
	screen.Command(customer{"acme"}.kubectl() + " get pods -A")
	screen.Command(local + " down")
}

// clean ends what an earlier demo left, if it was killed, and removes the state directory.
func clean(ctx context.Context) error {
	if err := localfleet.Down(ctx, stateDir); err != nil {
		return err
	}
	return os.RemoveAll(stateDir)
}

// quietLibraries keeps the logs of Kubernetes' libraries out of the story.
func quietLibraries() {
	log.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	rest.SetDefaultWarningHandler(rest.NoWarnings{})
}
