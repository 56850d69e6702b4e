package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// bareProcess is the argument with which this program is a floor that needs a process of its own:
// its memory is measured, or its start.
const bareProcess = "bare"

// What a bare process does.
const (
	// keepWatches reads numbers of clusters, a line each, keeps the same watches as Daytwo in so many
	// of them, and answers with its memory in use: live heap, heap, stacks, in KiB.
	keepWatches = "keep-watches"
	// listOnce lists what Daytwo watches, in all clusters, and ends.
	listOnce = "list-once"
)

// startedBare is a bare process that was started.
type startedBare struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
}

// startBareProcess starts this program again, as a floor for the whole fleet.
func (b *bench) startBareProcess(ctx context.Context, work string) (*startedBare, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	arguments := []string{bareProcess, work, b.installation}
	for _, cluster := range b.fleet {
		arguments = append(arguments, b.kubeconfig(cluster.Name()))
	}
	started := &startedBare{command: exec.CommandContext(ctx, program, arguments...)}
	started.command.Stderr = os.Stderr
	if started.in, err = started.command.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := started.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	started.out = bufio.NewReader(out)
	return started, started.command.Start()
}

// grow makes the process keep watches in so many clusters, and returns its memory in use.
func (s *startedBare) grow(count int) (usage, error) {
	if _, err := fmt.Fprintln(s.in, count); err != nil {
		return usage{}, fmt.Errorf("talk to the bare process: %w", err)
	}
	var answer usage
	if _, err := fmt.Fscanln(s.out, &answer.live, &answer.heap, &answer.stacks); err != nil {
		return usage{}, fmt.Errorf("listen to the bare process: %w", err)
	}
	return answer, nil
}

// kill ends the process, which has nothing to lose.
func (s *startedBare) kill() {
	_ = s.command.Process.Kill() // It may have ended by itself.
	_ = s.command.Wait()         // It was killed.
}

// listBare returns how long a bare process takes to start, connect to all clusters and list.
func (b *bench) listBare(ctx context.Context) (time.Duration, error) {
	start := time.Now()
	process, err := b.startBareProcess(ctx, listOnce)
	if err != nil {
		return 0, err
	}
	if err := process.command.Wait(); err != nil {
		return 0, fmt.Errorf("list with a bare process: %w", err)
	}
	return time.Since(start), nil
}

// runBareProcess is what a bare process runs.
func runBareProcess(ctx context.Context, arguments []string, in io.Reader, out io.Writer) error {
	if len(arguments) < 3 {
		return errors.New("a bare process needs its work, a label value and kubeconfigs")
	}
	fleet := bareFleet{installation: arguments[1], kubeconfigs: arguments[2:]}
	switch arguments[0] {
	case listOnce:
		return fleet.grow(ctx, len(fleet.kubeconfigs))
	case keepWatches:
		return fleet.keep(ctx, in, out)
	}
	return fmt.Errorf("a bare process does not know how to %s", arguments[0])
}
