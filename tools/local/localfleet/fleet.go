package localfleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/daytwo-dev/daytwo/tools/local/internal/component"
	"github.com/daytwo-dev/daytwo/tools/local/internal/filelock"
	"github.com/daytwo-dev/daytwo/tools/local/internal/ports"
	"github.com/daytwo-dev/daytwo/tools/local/internal/process"
)

const (
	// startParallel is how many clusters start at once. More of them only get
	// in each other's way: an API server keeps a processor busy for two seconds.
	startParallel = 4
	// lockPatience covers a command that is about to finish.
	lockPatience = 10 * time.Second
)

// ErrNoFleet says that a state directory holds no fleet.
var ErrNoFleet = errors.New("there is no fleet; bring one up first")

// Fleet is a management cluster and its workload clusters. Its methods may be
// called at the same time.
type Fleet struct {
	paths      paths
	progress   io.Writer
	lock       *filelock.Lock
	processes  *process.Table
	components component.Store
	registry   ports.Registry
	close      func() error
	// rerouteManager changes the manager's kubeconfig; nil leaves it.
	rerouteManager func(direct []byte) ([]byte, error)

	// etcdMu lets one caller at a time start etcd.
	etcdMu sync.Mutex

	// mu guards what follows.
	mu       sync.Mutex
	state    state
	clusters map[string]*Cluster
}

// Start brings a fleet up: what runs already is left as it is, what is missing
// is started. Clusters beyond those asked for stay.
//
// A fleet that is not Detached always starts empty. Whatever an earlier one left
// in the state directory, because it was killed, is ended and removed.
func Start(ctx context.Context, options Options) (*Fleet, error) {
	options, err := options.complete()
	if err != nil {
		return nil, err
	}
	f, err := open(ctx, options)
	if err != nil {
		return nil, err
	}
	if err := f.bringUp(ctx, options); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Open takes up a Detached fleet that Start brought up earlier, running or not.
// It returns ErrNoFleet if there is none.
func Open(ctx context.Context, stateDir string, progress io.Writer) (*Fleet, error) {
	options, err := Options{StateDir: stateDir, Detached: true, Progress: progress}.complete()
	if err != nil {
		return nil, err
	}
	if _, err := readState(paths{root: options.StateDir}); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", options.StateDir, ErrNoFleet)
	}
	return open(ctx, options)
}

// Close ends the fleet, with all its processes and data, unless it is Detached.
// A Detached one goes on, and another program may take it up.
func (f *Fleet) Close() error { return f.close() }

// StateDir returns the directory that holds everything of the fleet.
func (f *Fleet) StateDir() string { return f.paths.root }

// Management returns the management cluster.
func (f *Fleet) Management() *Cluster {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.clusters[managementName]
}

// Cluster returns the cluster of that name, which may also be "management".
func (f *Fleet) Cluster(name string) (*Cluster, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if cluster, ok := f.clusters[name]; ok {
		return cluster, nil
	}
	var known []string
	for _, cluster := range f.state.Clusters {
		known = append(known, cluster.Name)
	}
	return nil, fmt.Errorf("there is no cluster %q; there are: %s", name, strings.Join(known, ", "))
}

// Clusters returns the workload clusters in the order in which they were added.
func (f *Fleet) Clusters() []*Cluster {
	f.mu.Lock()
	defer f.mu.Unlock()
	var clusters []*Cluster
	for _, cluster := range f.state.Clusters {
		if cluster.Name != managementName {
			clusters = append(clusters, f.clusters[cluster.Name])
		}
	}
	return clusters
}

// open locks the state directory and reads what is in it.
func open(ctx context.Context, options Options) (*Fleet, error) {
	cache, err := cacheDir()
	if err != nil {
		return nil, err
	}
	f := &Fleet{
		paths:    paths{root: options.StateDir},
		progress: options.Progress,

		rerouteManager: options.ManagerKubeconfig,
		registry:       ports.Registry{Dir: filepath.Join(cache, "ports")},
		clusters:       map[string]*Cluster{},
	}
	if f.components, err = newStore(cache, "", options.Components); err != nil {
		return nil, err
	}
	if f.lock, err = lockStateDir(ctx, f.paths); err != nil {
		return nil, err
	}
	if err := f.load(ctx, options); err != nil {
		f.lock.Release()
		return nil, err
	}
	return f, nil
}

func (f *Fleet) load(ctx context.Context, options Options) error {
	var err error
	if f.state, err = f.takeOver(ctx, options); err != nil {
		return err
	}
	for _, s := range f.state.Clusters {
		if f.clusters[s.Name], err = f.newCluster(s); err != nil {
			return err
		}
	}
	lifetime, closer := process.Tied, f.end
	if options.Detached {
		lifetime, closer = process.Detached, f.letGo
	}
	f.close = sync.OnceValue(closer)
	f.processes, err = process.NewTable(f.paths.records(), lifetime)
	return err
}

// takeOver returns the state of the fleet to go on with. Leftovers of one that
// should have ended with its starter are cleared away.
func (f *Fleet) takeOver(ctx context.Context, options Options) (state, error) {
	fresh := state{Detached: options.Detached}
	s, err := readState(f.paths)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fresh, err
	case err == nil && s.Detached && options.Detached:
		return s, nil
	case err == nil && s.Detached:
		return fresh, fmt.Errorf("%s holds a fleet that somebody brought up to stay: "+
			"choose another state directory, or run down first", f.paths.root)
	}
	return fresh, clearAway(ctx, f.paths, f.registry, s)
}

// letGo leaves the programs running.
func (f *Fleet) letGo() error {
	f.processes.Close()
	f.lock.Release()
	return nil
}

// end leaves nothing running.
func (f *Fleet) end() error {
	defer f.lock.Release()
	defer f.processes.Close()
	f.mu.Lock()
	defer f.mu.Unlock()
	// Not the caller's context: what it started has to end also when that has.
	return clearAway(context.Background(), f.paths, f.registry, f.state)
}

// bringUp starts what is missing: etcd, then all clusters, some at a time.
func (f *Fleet) bringUp(ctx context.Context, options Options) error {
	start := time.Now()
	if err := f.provideComponents(ctx, options); err != nil {
		return err
	}
	if err := f.claimEtcdPorts(ctx); err != nil {
		return err
	}
	if options.Velero || f.storageState() != nil {
		if err := f.bringUpStorage(ctx); err != nil {
			return err
		}
	}
	if err := f.ensureClusters(ctx, options); err != nil {
		return err
	}
	if err := f.startClusters(ctx); err != nil {
		return err
	}
	f.progressf("all clusters are ready after %.1fs", time.Since(start).Seconds())
	return f.bringUpManagement(ctx, options)
}

// bringUpManagement starts what works in the management cluster, beside each other.
func (f *Fleet) bringUpManagement(ctx context.Context, options Options) error {
	group, ctx := errgroup.WithContext(ctx)
	if options.CertManager || f.certManagerState() != nil {
		group.Go(func() error { return f.bringUpCertManager(ctx) })
	}
	if options.ClusterAPI || f.hasClusterAPI() {
		group.Go(func() error { return f.bringUpClusterAPI(ctx) })
	}
	return group.Wait()
}

// ensureClusters records the clusters that the options ask for.
func (f *Fleet) ensureClusters(ctx context.Context, options Options) error {
	names := []string{managementName}
	for i := range options.Clusters {
		names = append(names, workloadName(i+1))
	}
	for _, name := range names {
		cluster, err := f.ensureCluster(ctx, name, options.ClusterOptions)
		if err != nil {
			return err
		}
		if options.Velero {
			if err := f.addVelero(cluster); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *Fleet) startClusters(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(startParallel)
	for _, cluster := range slices.Concat([]*Cluster{f.Management()}, f.Clusters()) {
		group.Go(func() error { return cluster.Start(ctx) })
	}
	return group.Wait()
}
