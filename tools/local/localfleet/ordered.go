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

	"github.com/daytwo-dev/daytwo/tools/local/internal/ports"
	"github.com/daytwo-dev/daytwo/tools/local/internal/process"
)

// Ordered are the clusters that were ordered from a fleet through Cluster API.
// Each is like a workload cluster of the fleet, in the same etcd, but belongs to
// the provider, a program of its own: they have a directory, a lock and records
// apart from the fleet's.
//
// A cluster is claimed first, which gives it an endpoint, and started then.
type Ordered struct {
	fleet *Fleet
	// versions of Kubernetes that there are.
	versions []string
	// options that every cluster has.
	options ClusterOptions
}

// OrderedName is the name that a cluster of a namespace has among the ordered ones. No
// name in Kubernetes has an underscore, so no two clusters share one.
func OrderedName(namespace, name string) string { return namespace + "_" + name }

// OpenOrdered takes up the clusters that were ordered from the fleet in a state
// directory, running or not. One program at a time can have them. They end with
// it exactly if the fleet ends with its starter. componentsDir is where the
// modules of components are; if "", it is looked for.
func OpenOrdered(ctx context.Context, stateDir, componentsDir string, progress io.Writer) (*Ordered, error) {
	options, err := Options{StateDir: stateDir, Progress: progress}.complete()
	if err != nil {
		return nil, err
	}
	host := paths{root: options.StateDir}
	hostState, err := readState(host)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", host.root, ErrNoFleet)
	}
	if err != nil {
		return nil, err
	}
	cache, err := cacheDir()
	if err != nil {
		return nil, err
	}
	f := &Fleet{
		paths:    host.ordered(),
		progress: options.Progress,
		registry: ports.Registry{Dir: filepath.Join(cache, "ports")},
		clusters: map[string]*Cluster{},
	}
	if f.components, err = newStore(cache, componentsDir, options.Components); err != nil {
		return nil, err
	}
	if f.lock, err = lockStateDir(ctx, f.paths); err != nil {
		return nil, err
	}
	if err := f.loadOrdered(hostState); err != nil {
		f.lock.Release()
		return nil, err
	}
	return &Ordered{fleet: f, versions: f.KubernetesVersions(), options: ClusterOptions{Velero: hostState.Storage != nil}}, nil
}

func (f *Fleet) loadOrdered(host state) error {
	var err error
	if f.state, err = readState(f.paths); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f.state.Etcd, f.state.Detached = host.Etcd, host.Detached
	for i := range f.state.Clusters {
		f.state.Clusters[i].Velero = host.Storage != nil
	}
	for _, s := range f.state.Clusters {
		if f.clusters[s.Name], err = f.newCluster(s); err != nil {
			return err
		}
	}
	lifetime := process.Tied
	if host.Detached {
		lifetime = process.Detached
	}
	f.processes, err = process.NewTable(f.paths.records(), lifetime)
	return err
}

// Claim returns the cluster of that name, which is new if there was none: it has
// an endpoint and credentials, but nothing runs.
func (o *Ordered) Claim(ctx context.Context, name string) (*Cluster, error) {
	return o.fleet.ensureCluster(ctx, name, o.options)
}

// Cluster returns the cluster of that name, if it was claimed.
func (o *Ordered) Cluster(name string) (*Cluster, bool) {
	cluster, err := o.fleet.Cluster(name)
	return cluster, err == nil
}

// Empty ends a cluster and deletes its data. It stays claimed. It does nothing if
// there is no such cluster.
func (o *Ordered) Empty(ctx context.Context, name string) error {
	cluster, ok := o.Cluster(name)
	if !ok {
		return nil
	}
	return cluster.empty(ctx)
}

// Remove ends a cluster and deletes everything of it. It does nothing if there is
// no such cluster.
func (o *Ordered) Remove(ctx context.Context, name string) error {
	if _, ok := o.Cluster(name); !ok {
		return nil
	}
	return o.fleet.RemoveCluster(ctx, name)
}

// CheckVersion returns an error that names the versions that clusters can have if
// that one is none of them. "" is any.
func (o *Ordered) CheckVersion(version string) error {
	if version == "" || slices.Contains(o.versions, version) {
		return nil
	}
	return fmt.Errorf("there is no Kubernetes %s here; there are %s", version, strings.Join(o.versions, ", "))
}

// Close leaves the clusters to whoever opens them next. They end if they are tied
// and this program ends.
func (o *Ordered) Close() {
	o.fleet.processes.Close()
	o.fleet.lock.Release()
}
