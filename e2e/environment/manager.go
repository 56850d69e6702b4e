package environment

import (
	"context"
	"fmt"

	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
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

// StartReplica starts another manager with the same arguments beside the one that runs, which leads. It does not wait.
func (m *Manager) StartReplica(ctx context.Context) error {
	if err := m.fleet.StartReplica(ctx, m.binary, m.args...); err != nil {
		return fmt.Errorf("start a replica of the manager: %w", err)
	}
	return nil
}

// Stop asks the manager to end (SIGTERM) and waits until it has; another exit code than 0 is an
// error. It does not kill one that takes longer than ctx lasts.
func (m *Manager) Stop(ctx context.Context) error { return m.fleet.StopManager(ctx) }

// Kill ends the manager without a warning (SIGKILL) and waits until it is gone.
func (m *Manager) Kill() error { return m.fleet.KillManager(context.Background()) }

// PID returns the manager's process id; 0 if it does not run.
func (m *Manager) PID() int { return m.fleet.ManagerPID() }

// Binary returns the path of the manager's program.
func (m *Manager) Binary() string { return m.binary }

// LogPath returns the file that the manager logs to, over all its starts.
func (m *Manager) LogPath() string { return m.fleet.ManagerLog() }
