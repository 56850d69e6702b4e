package localfleet

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/daytwo-dev/daytwo/tools/local/internal/process"
)

// The identity of the manager's service account in a real cluster. It may do
// what the generated roles, bound to that service account, allow.
const (
	managerNamespace = "daytwo-system"
	managerUser      = "system:serviceaccount:" + managerNamespace + ":daytwo-controller-manager"
)

// StartManager runs the manager binary at path against the management cluster,
// and waits until it is ready. It has only the rights of its service account,
// none of its own, so the roles must have been applied before. One that runs
// already is ended first, so that a new build is taken up.
func (f *Fleet) StartManager(ctx context.Context, path string, args ...string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("the manager's binary is missing; build it first: %w", err)
	}
	if manager, running := f.processes.Lookup(managerName); running {
		if err := manager.Terminate(ctx, managerGrace); err != nil {
			return err
		}
	}
	kubeconfig, err := f.managerKubeconfig()
	if err != nil {
		return err
	}
	if err := writeFile(f.paths.managerKubeconfig(), kubeconfig); err != nil {
		return err
	}
	ports, err := f.claimManagerPorts(ctx)
	if err != nil {
		return err
	}
	if err := f.createServerCredentials(managerName); err != nil {
		return err
	}
	if err := f.recordManager(path, args); err != nil {
		return err
	}
	return f.runManager(ctx, path, args, ports)
}

// RestartManager ends the manager, if it runs, and starts what was started last, so that a new build is taken up.
func (f *Fleet) RestartManager(ctx context.Context) error {
	manager := f.managerPorts()
	if manager.Binary == "" {
		return errors.New("no manager was started in this fleet: bring it up with one first, as make local-up does")
	}
	return f.StartManager(ctx, manager.Binary, manager.Args...)
}

// recordManager keeps what RestartManager starts.
func (f *Fleet) recordManager(path string, args []string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.state.Manager.Binary, f.state.Manager.Args = path, args
	return writeState(f.paths, f.state)
}

func (f *Fleet) managerKubeconfig() ([]byte, error) {
	direct, err := f.Management().KubeconfigFor(managerUser,
		[]string{"system:serviceaccounts", "system:serviceaccounts:" + managerNamespace}, credentialsLifetime)
	if err != nil || f.rerouteManager == nil {
		return direct, err
	}
	return f.rerouteManager(direct)
}

// StopManager asks the manager to end (SIGTERM) and waits until it has. It does
// not kill one that takes longer than ctx lasts. A manager that ends with another
// exit code than 0 is an error, if this program started it.
func (f *Fleet) StopManager(ctx context.Context) error {
	manager, err := f.manager()
	if err != nil {
		return err
	}
	if err := manager.Stop(ctx); err != nil {
		return fmt.Errorf("%w; %s", err, lastWords(manager))
	}
	return nil
}

// KillManager ends the manager without a warning (SIGKILL) and waits until it is
// gone.
func (f *Fleet) KillManager(ctx context.Context) error {
	manager, err := f.manager()
	if err != nil {
		return err
	}
	return manager.Kill(ctx)
}

// ManagerPID returns the manager's process id; 0 if it does not run.
func (f *Fleet) ManagerPID() int {
	manager, err := f.manager()
	if err != nil {
		return 0
	}
	return manager.PID()
}

// ManagerMetricsURL returns where the manager serves its metrics, which stays the
// same when it is started again; empty before it was started first, or its webhooks
// were installed.
func (f *Fleet) ManagerMetricsURL() string {
	return f.managerURL("metrics", func(ports managerState) int { return ports.MetricsPort })
}

// ManagerProfilesURL returns where the manager serves its profiles: a directory
// of net/http/pprof. It stays the same like ManagerMetricsURL.
func (f *Fleet) ManagerProfilesURL() string {
	return f.managerURL("debug/pprof/", func(ports managerState) int { return ports.ProfilesPort })
}

func (f *Fleet) managerURL(path string, port func(managerState) int) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.state.Manager == nil {
		return ""
	}
	return fmt.Sprintf("http://127.0.0.1:%d/%s", port(*f.state.Manager), path)
}

// ManagerLog returns the file that the manager logs to, over all its starts.
func (f *Fleet) ManagerLog() string { return f.paths.log(managerName) }

func (f *Fleet) manager() (*process.Process, error) {
	manager, running := f.processes.Lookup(managerName)
	if !running {
		return nil, errors.New("the manager does not run: start it first")
	}
	return manager, nil
}

func (f *Fleet) runManager(ctx context.Context, path string, args []string, ports managerState) error {
	start := time.Now()
	manager, err := f.start(ctx, program{
		name:   managerName,
		binary: path,
		args: append([]string{
			fmt.Sprintf("--health-probe-bind-address=127.0.0.1:%d", ports.HealthPort),
			fmt.Sprintf("--metrics-bind-address=127.0.0.1:%d", ports.MetricsPort),
			fmt.Sprintf("--pprof-bind-address=127.0.0.1:%d", ports.ProfilesPort),
			fmt.Sprintf("--webhook-bind-address=127.0.0.1:%d", ports.WebhookPort),
			"--webhook-cert-dir=" + f.paths.pki(managerName),
			"--allow-loopback-clusters", // All clusters of the fleet are there.
		}, args...),
		env:   []string{"KUBECONFIG=" + f.paths.managerKubeconfig()},
		ports: ports.all(),
	})
	if err != nil {
		return err
	}
	ready := func(ctx context.Context) error {
		return getOK(ctx, http.DefaultClient, fmt.Sprintf("http://127.0.0.1:%d/readyz", ports.HealthPort))
	}
	if err := waitReady(ctx, ready, manager); err != nil {
		return errors.Join(err, manager.Kill(context.WithoutCancel(ctx)))
	}
	f.progressf("manager: ready after %.1fs, log in %s, metrics at %s", time.Since(start).Seconds(), manager.Log(), f.ManagerMetricsURL())
	return nil
}

// claimManagerPorts claims what is missing only: a fleet of an earlier version of this program has a manager without
// webhooks, which may still serve the others.
func (f *Fleet) claimManagerPorts(ctx context.Context) (managerState, error) {
	claimed := f.managerPorts()
	var missing []*int
	for _, port := range []*int{&claimed.HealthPort, &claimed.MetricsPort, &claimed.ProfilesPort, &claimed.WebhookPort} {
		if *port == 0 {
			missing = append(missing, port)
		}
	}
	if len(missing) == 0 {
		return claimed, nil
	}
	if err := f.claimPorts(ctx, missing...); err != nil {
		return managerState{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.state.Manager = &claimed
	return claimed, writeState(f.paths, f.state)
}

func (f *Fleet) managerPorts() managerState {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.state.Manager == nil {
		return managerState{}
	}
	return *f.state.Manager
}
