package localfleet

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// Snapshot is a copy of what a cluster's etcd held at a moment.
type Snapshot struct {
	cluster string
	dir     string
}

// Snapshot copies the data of a cluster that has an etcd of its own. That is killed
// meanwhile, and started again: the API server answers nothing for about a second,
// and ends its watches. A cluster that was stopped before runs afterwards.
func (c *Cluster) Snapshot(ctx context.Context) (Snapshot, error) {
	snapshot := Snapshot{cluster: c.name}
	err := c.withoutEtcd(ctx, func() (err error) {
		snapshot.dir, err = c.copyData()
		return err
	})
	if err != nil {
		return Snapshot{}, fmt.Errorf("take a snapshot of %s: %w", c.name, err)
	}
	return snapshot, c.Start(ctx)
}

// Restore puts a cluster back to a snapshot of it, as people do after a disaster: its
// programs are ended, what etcd holds is replaced, and they are started again.
// Resource versions go backwards, and are given out a second time. A snapshot can be
// restored any number of times.
func (c *Cluster) Restore(ctx context.Context, snapshot Snapshot) error {
	if err := c.Stop(ctx); err != nil {
		return err
	}
	return c.RestoreEtcd(ctx, snapshot)
}

// RestoreEtcd is Restore for people who forget to restart the API server. It goes on
// under the same connections, and its watch cache goes on with what it remembers.
func (c *Cluster) RestoreEtcd(ctx context.Context, snapshot Snapshot) error {
	if snapshot.cluster != c.name {
		return fmt.Errorf("a snapshot of %q cannot be restored in %s", snapshot.cluster, c.name)
	}
	err := c.withoutEtcd(ctx, func() error {
		if err := os.RemoveAll(c.etcd().dataDir); err != nil {
			return err
		}
		return os.CopyFS(c.etcd().dataDir, os.DirFS(snapshot.dir))
	})
	if err != nil {
		return fmt.Errorf("restore %s: %w", c.name, err)
	}
	return c.Start(ctx)
}

func (c *Cluster) copyData() (string, error) {
	all := c.fleet.paths.snapshots(c.name)
	if err := os.MkdirAll(all, 0o700); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(all, "")
	if err != nil {
		return "", err
	}
	return dir, os.CopyFS(dir, os.DirFS(c.etcd().dataDir))
}

// withoutEtcd does something to the files of the cluster's etcd while that is down.
func (c *Cluster) withoutEtcd(ctx context.Context, do func() error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.options.OwnEtcd {
		return errors.New("it shares its etcd with others: set OwnEtcd in its ClusterOptions")
	}
	if etcd, running := c.lookup(etcdName); running {
		if err := etcd.Kill(ctx); err != nil {
			return err
		}
	}
	return do()
}
