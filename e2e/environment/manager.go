package environment

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
)

const (
	// managerName is that of the manager among the programs of a fleet.
	managerName = "manager"

	lookEvery = 10 * time.Millisecond
	// killDeadline is for the kernel, which gives a killed process's memory back first.
	killDeadline = 30 * time.Second
)

// Manager is the manager's process, which can be ended and started again.
type Manager struct {
	fleet  *localfleet.Fleet
	binary string
	args   []string
}

// Start starts the manager and waits until it is ready. It fails if it runs already.
func (m *Manager) Start(ctx context.Context) error {
	if pid := m.PID(); pid != 0 {
		return fmt.Errorf("the manager runs already, as process %d: stop it first", pid)
	}
	if err := m.fleet.StartManager(ctx, m.binary, m.args...); err != nil {
		return fmt.Errorf("start the manager: %w", err)
	}
	return nil
}

// Stop asks the manager to end (SIGTERM) and waits until it has. It does not kill one that takes
// longer than ctx lasts.
func (m *Manager) Stop(ctx context.Context) error { return m.end(ctx, syscall.SIGTERM) }

// Kill ends the manager without a warning (SIGKILL) and waits until it is gone.
func (m *Manager) Kill() error {
	ctx, cancel := context.WithTimeout(context.Background(), killDeadline)
	defer cancel()
	return m.end(ctx, syscall.SIGKILL)
}

// PID returns the manager's process id; 0 if it does not run.
func (m *Manager) PID() int {
	programs, err := localfleet.Status(m.fleet.StateDir())
	if err != nil {
		return 0 // Without a fleet there is no manager.
	}
	for _, program := range programs {
		if program.Name == managerName && program.Up {
			return program.PID
		}
	}
	return 0
}

// LogPath returns the file that the manager logs to, over all its starts.
func (m *Manager) LogPath() string {
	return filepath.Join(m.fleet.StateDir(), "logs", managerName+".log")
}

func (m *Manager) end(ctx context.Context, signal os.Signal) error {
	pid := m.PID()
	if pid == 0 {
		return errors.New("the manager does not run")
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	defer func() { _ = process.Release() }() // It only gives the handle back.
	// The handle is of one process, and if the manager still runs now, of the manager.
	if m.PID() == pid {
		if err := process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("send %s to the manager: %w", signal, err)
		}
	}
	err = wait.PollUntilContextCancel(ctx, lookEvery, true, func(context.Context) (bool, error) {
		return m.PID() != pid, nil
	})
	if err != nil {
		return fmt.Errorf("the manager, process %d, still runs after %s: %w", pid, signal, err)
	}
	return nil
}
