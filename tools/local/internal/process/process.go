package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	lookEvery = 10 * time.Millisecond
	// A killed process can still take a while to go: the kernel gives its
	// memory back first.
	killDeadline = 30 * time.Second
	// pauseDeadline is for every thread of a program to be scheduled once.
	pauseDeadline = 30 * time.Second
)

// Process is a recorded program.
type Process struct {
	name   string
	log    string
	record Record
	path   string
	// done closes when the program ends; nil if another program started it.
	done chan struct{}
	// ended says how, once done is closed.
	ended *os.ProcessState
}

// Name returns the program's name in its Table.
func (p *Process) Name() string { return p.name }

// PID returns the process id.
func (p *Process) PID() int { return p.record.PID }

// Started returns when the program was started.
func (p *Process) Started() time.Time { return p.record.Started }

// Log returns the file that the program's output goes to.
func (p *Process) Log() string { return p.log }

// Alive tells whether the program still runs.
func (p *Process) Alive() bool {
	if p.done != nil {
		select {
		case <-p.done:
			return false
		default:
			return true
		}
	}
	birth, alive := birthOf(p.record.PID)
	return alive && birth == p.record.Birth
}

// Ended returns how the program ended. It is nil while the program runs, and
// also after one that another program started: the system tells only a parent.
func (p *Process) Ended() *os.ProcessState {
	if p.done == nil || p.Alive() {
		return nil
	}
	return p.ended
}

// Signal sends a signal, and returns os.ErrProcessDone if the program is gone.
// A process that merely has the same id is never signalled.
func (p *Process) Signal(signal os.Signal) error {
	// On Linux the handle is a file descriptor of one process. What is found to
	// be alive after opening it is what the signal reaches.
	handle, err := os.FindProcess(p.record.PID)
	if err != nil {
		return err
	}
	defer func() { _ = handle.Release() }()
	if birth, alive := birthOf(p.record.PID); !alive || birth != p.record.Birth {
		return os.ErrProcessDone
	}
	return handle.Signal(signal)
}

// Pause stops the program, and waits until all of it stands still: the signal alone takes a while to reach each
// thread, which may answer a request meanwhile.
func (p *Process) Pause(ctx context.Context) error {
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		return fmt.Errorf("pause %s (process %d): %w", p.name, p.record.PID, err)
	}
	ctx, cancel := context.WithTimeout(ctx, pauseDeadline)
	defer cancel()
	err := wait.PollUntilContextCancel(ctx, lookEvery, true, func(context.Context) (bool, error) {
		return stopped(p.record.PID), nil
	})
	if err != nil {
		return fmt.Errorf("%s (process %d) does not stand still although it was paused: %w", p.name, p.record.PID, err)
	}
	return nil
}

// Kill ends the program at once, waits until it is gone and removes its record.
func (p *Process) Kill(ctx context.Context) error {
	if err := p.Signal(syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill %s (process %d): %w", p.name, p.record.PID, err)
	}
	ctx, cancel := context.WithTimeout(ctx, killDeadline)
	defer cancel()
	if err := p.waitGone(ctx); err != nil {
		return fmt.Errorf("%s (process %d) does not end although it was killed: %w", p.name, p.record.PID, err)
	}
	return ignoreNotExist(os.Remove(p.path))
}

// KillGroup is Kill, also for the processes that the program started and did not give a session of their own.
func (p *Process) KillGroup(ctx context.Context) error {
	if p.Alive() {
		// The group's number is the program's, and nobody else's for as long as one of the group is left.
		if err := syscall.Kill(-p.record.PID, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("kill %s (process group %d): %w", p.name, p.record.PID, err)
		}
	}
	return p.Kill(ctx)
}

// Stop asks the program to end, waits until it has and removes its record. It
// kills none that takes longer than ctx lasts. An exit code other than 0 is an
// error; that of a program which another one started is not known.
func (p *Process) Stop(ctx context.Context) error {
	if err := p.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("ask %s (process %d) to end: %w", p.name, p.record.PID, err)
	}
	if err := p.waitGone(ctx); err != nil {
		return fmt.Errorf("%s (process %d) still runs although it was asked to end: %w", p.name, p.record.PID, err)
	}
	if err := ignoreNotExist(os.Remove(p.path)); err != nil {
		return err
	}
	if state := p.Ended(); state != nil && !state.Success() {
		return fmt.Errorf("%s (process %d) was asked to end and failed: %s", p.name, p.record.PID, state)
	}
	return nil
}

// Terminate asks the program to end, gives it the grace period, and kills it
// after that.
func (p *Process) Terminate(ctx context.Context, grace time.Duration) error {
	if err := p.Signal(syscall.SIGTERM); err == nil {
		graceful, cancel := context.WithTimeout(ctx, grace)
		defer cancel()
		_ = p.waitGone(graceful) // Kill follows either way.
	}
	return p.Kill(ctx)
}

func (p *Process) waitGone(ctx context.Context) error {
	return wait.PollUntilContextCancel(ctx, lookEvery, true, func(context.Context) (bool, error) {
		return !p.Alive(), nil
	})
}

func ignoreNotExist(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
