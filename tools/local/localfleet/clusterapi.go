package localfleet

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
)

// bringUpClusterAPI installs Cluster API and the provider, starts what does not
// run of them, and then makes the classes, which the webhooks check.
func (f *Fleet) bringUpClusterAPI(ctx context.Context) error {
	start := time.Now()
	ports, err := f.claimClusterAPIPorts(ctx)
	if err != nil {
		return err
	}
	if err := f.createClusterAPICredentials(); err != nil {
		return fmt.Errorf("create credentials of Cluster API: %w", err)
	}
	if err := f.installClusterAPI(ctx, ports); err != nil {
		return fmt.Errorf("install Cluster API: %w", err)
	}
	if err := f.StartClusterAPI(ctx); err != nil {
		return err
	}
	if err := f.applyClasses(ctx); err != nil {
		return fmt.Errorf("make the classes of clusters: %w", err)
	}
	f.progressf("Cluster API: ready after %.1fs, classes in namespace %s", time.Since(start).Seconds(), ClassNamespace)
	return nil
}

// hasClusterAPI tells whether Cluster API was ever brought up in this fleet.
func (f *Fleet) hasClusterAPI() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state.ClusterAPI != nil
}

// StartClusterAPI starts Cluster API's manager and the provider, as far as they
// do not run, and waits until they are ready. They must have been installed by
// Options.ClusterAPI.
func (f *Fleet) StartClusterAPI(ctx context.Context) error {
	f.mu.Lock()
	ports := f.state.ClusterAPI
	f.mu.Unlock()
	if ports == nil {
		return errors.New("there is no Cluster API: start the fleet with it first")
	}
	provider, err := f.providerProgram()
	if err != nil {
		return err
	}
	provider.args = append(provider.args, fmt.Sprintf("--health-addr=127.0.0.1:%d", ports.ProviderHealthPort))
	provider.ports = []int{ports.ProviderHealthPort}

	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return f.runUntilReady(ctx, f.clusterAPIProgram(*ports), ports.HealthPort) })
	group.Go(func() error { return f.runUntilReady(ctx, provider, ports.ProviderHealthPort) })
	return group.Wait()
}

// KillClusterAPI ends Cluster API's manager without a warning (SIGKILL) and waits
// until it is gone. Ordered clusters go on; with its webhooks gone, nobody can
// order or change one.
func (f *Fleet) KillClusterAPI(ctx context.Context) error { return f.kill(ctx, clusterAPIName) }

// KillProvider ends the provider without a warning (SIGKILL) and waits until it is
// gone. In a Detached fleet, and outside Linux, ordered clusters go on; else
// they end with it. StartClusterAPI brings it, and them, back.
func (f *Fleet) KillProvider(ctx context.Context) error { return f.kill(ctx, providerName) }

// ProviderPID returns the provider's process id; 0 if it does not run.
func (f *Fleet) ProviderPID() int { return f.pid(providerName) }

// ClusterAPIPID returns the process id of Cluster API's manager; 0 if it does not
// run.
func (f *Fleet) ClusterAPIPID() int { return f.pid(clusterAPIName) }

func (f *Fleet) pid(name string) int {
	p, running := f.processes.Lookup(name)
	if !running {
		return 0
	}
	return p.PID()
}

func (f *Fleet) kill(ctx context.Context, name string) error {
	p, running := f.processes.Lookup(name)
	if !running {
		return fmt.Errorf("%s does not run: start it first", name)
	}
	return p.Kill(ctx)
}

func (f *Fleet) runUntilReady(ctx context.Context, p program, healthPort int) error {
	running, err := f.ensure(ctx, p)
	if err != nil {
		return err
	}
	ready := func(ctx context.Context) error {
		return getOK(ctx, http.DefaultClient, healthURL(healthPort)+"/readyz")
	}
	if err := waitReady(ctx, ready, running); err != nil {
		return errors.Join(err, running.Kill(context.WithoutCancel(ctx)))
	}
	return nil
}
