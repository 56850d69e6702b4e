package localfleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/daytwo-dev/daytwo/tools/local/internal/filelock"
	"github.com/daytwo-dev/daytwo/tools/local/internal/ports"
	"github.com/daytwo-dev/daytwo/tools/local/internal/process"
)

// managerGrace is what the manager gets to finish what it is doing.
const managerGrace = 15 * time.Second

func lockStateDir(ctx context.Context, p paths) (*filelock.Lock, error) {
	patient, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	lock, err := filelock.Acquire(patient, p.lock())
	var held *filelock.HeldError
	if errors.As(err, &held) && ctx.Err() == nil {
		return nil, fmt.Errorf("%s is in use by process %s: wait for it, or choose another state directory",
			p.root, held.Holder)
	}
	return lock, err
}

// Down ends the fleet in a state directory, Detached or left over by a killed
// starter, and removes it. Only logs stay. It does nothing if there is no fleet.
func Down(ctx context.Context, stateDir string) error {
	root, err := filepath.Abs(stateDir)
	if err != nil {
		return err
	}
	p := paths{root: root}
	if _, err := os.Stat(root); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	cache, err := cacheDir()
	if err != nil {
		return err
	}
	lock, err := lockStateDir(ctx, p)
	if err != nil {
		return err
	}
	defer lock.Release()
	// A damaged state costs only the early return of its ports.
	s, _ := readState(p)
	return clearAway(ctx, p, ports.Registry{Dir: filepath.Join(cache, "ports")}, s)
}

// clearAway ends all recorded programs and removes the fleet's files.
func clearAway(ctx context.Context, p paths, registry ports.Registry, s state) error {
	if err := endPrograms(ctx, p); err != nil {
		return err
	}
	if err := releasePorts(ctx, p, registry, s); err != nil {
		return err
	}
	// As with the fleet's own, damage costs only the early return of ports.
	ordered, _ := readState(p.ordered())
	if err := releasePorts(ctx, p.ordered(), registry, ordered); err != nil {
		return err
	}
	return p.clear()
}

func releasePorts(ctx context.Context, p paths, registry ports.Registry, s state) error {
	for _, port := range s.ports() {
		if err := registry.Release(ctx, p.root, port); err != nil {
			return err
		}
	}
	return nil
}

// endPrograms ends the manager in its own time, then the provider, which would
// start again what ends, and then everything else at once.
func endPrograms(ctx context.Context, p paths) error {
	table, err := process.NewTable(p.records(), process.Detached)
	if err != nil {
		return err
	}
	defer table.Close()
	if manager, running := table.Lookup(managerName); running {
		if err := manager.Terminate(ctx, managerGrace); err != nil {
			return err
		}
	}
	if provider, running := table.Lookup(providerName); running {
		if err := provider.Kill(ctx); err != nil {
			return err
		}
	}
	if err := killAll(ctx, table); err != nil {
		return err
	}
	ordered, err := process.NewTable(p.ordered().records(), process.Detached)
	if err != nil {
		return err
	}
	defer ordered.Close()
	return killAll(ctx, ordered)
}

func killAll(ctx context.Context, table *process.Table) error {
	names, err := table.Names()
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, name := range names {
		if p, running := table.Lookup(name); running {
			group.Go(func() error { return p.KillGroup(ctx) })
		}
	}
	return group.Wait()
}
