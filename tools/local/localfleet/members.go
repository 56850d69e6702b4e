package localfleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
)

// AddCluster adds a workload cluster of that name and waits until it is ready.
// If it doesn't become ready, it is removed again.
func (f *Fleet) AddCluster(ctx context.Context, name string, options ClusterOptions) (*Cluster, error) {
	if err := validateClusterName(name); err != nil {
		return nil, err
	}
	if _, err := f.Cluster(name); err == nil {
		return nil, fmt.Errorf("there is a cluster %s already: remove it first, or choose another name", name)
	}
	cluster, err := f.ensureCluster(ctx, name, options)
	if err != nil {
		return nil, err
	}
	if err := cluster.Start(ctx); err != nil {
		return nil, errors.Join(err, f.RemoveCluster(context.WithoutCancel(ctx), name))
	}
	return cluster, nil
}

// RemoveCluster ends a workload cluster and deletes its data, credentials and
// kubeconfig.
func (f *Fleet) RemoveCluster(ctx context.Context, name string) error {
	if name == managementName {
		return errors.New("the management cluster cannot be removed: end the whole fleet instead")
	}
	cluster, err := f.Cluster(name)
	if err != nil {
		return err
	}
	if err := cluster.empty(ctx); err != nil {
		return err
	}
	if err := f.forget(cluster); err != nil {
		return err
	}
	return errors.Join(
		os.RemoveAll(f.paths.pki(name)),
		os.RemoveAll(f.paths.kwok(name)),
		os.RemoveAll(f.paths.velero(name)),
		os.RemoveAll(f.paths.kubeconfig(name)),
		f.releaseClusterPorts(ctx, cluster),
	)
}

func (f *Fleet) releaseClusterPorts(ctx context.Context, cluster *Cluster) error {
	var problems []error
	for _, port := range append(cluster.etcdPorts.all(), cluster.port) {
		problems = append(problems, f.registry.Release(ctx, f.paths.root, port))
	}
	return errors.Join(problems...)
}

// empty stops the cluster and deletes its data.
func (c *Cluster) empty(ctx context.Context) error {
	if err := c.Stop(ctx); err != nil {
		return err
	}
	for _, binary := range programsOfCluster {
		if err := c.fleet.processes.Forget(c.program(binary)); err != nil {
			return err
		}
	}
	if err := c.deleteData(ctx); err != nil {
		return fmt.Errorf("delete the data of %s: %w", c.name, err)
	}
	return nil
}

// ensureCluster returns the cluster of that name; a new one is recorded, but not
// started.
func (f *Fleet) ensureCluster(ctx context.Context, name string, options ClusterOptions) (*Cluster, error) {
	if cluster, err := f.Cluster(name); err == nil {
		return cluster, nil
	}
	added := clusterState{Name: name, ClusterOptions: options}
	ports := []*int{&added.Port}
	if options.OwnEtcd {
		ports = append(ports, &added.Etcd.ClientPort, &added.Etcd.PeerPort, &added.Etcd.HTTPPort)
	}
	if err := f.claimPorts(ctx, ports...); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	cluster, err := f.newCluster(added)
	if err != nil {
		return nil, err
	}
	f.clusters[name] = cluster
	f.state.Clusters = append(f.state.Clusters, added)
	return cluster, writeState(f.paths, f.state)
}

func (f *Fleet) forget(cluster *Cluster) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.clusters, cluster.name)
	f.state.Clusters = slices.DeleteFunc(f.state.Clusters, func(s clusterState) bool { return s.Name == cluster.name })
	return writeState(f.paths, f.state)
}

// deleteData expects that the cluster's programs have ended.
func (c *Cluster) deleteData(ctx context.Context) error {
	if c.options.OwnEtcd {
		return errors.Join(os.RemoveAll(c.etcd().dataDir), os.RemoveAll(c.fleet.paths.snapshots(c.name)))
	}
	if err := c.fleet.startEtcd(ctx, c.etcd()); err != nil {
		return err
	}
	client, err := c.fleet.etcdClient(c.etcd())
	if err != nil {
		return err
	}
	defer client.close()
	return client.deletePrefix(ctx, etcdPrefix(c.name))
}

func (f *Fleet) etcdPorts() etcdState {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state.Etcd
}

func (f *Fleet) claimEtcdPorts(ctx context.Context) error {
	if f.etcdPorts().ClientPort != 0 {
		return nil
	}
	var claimed etcdState
	if err := f.claimPorts(ctx, &claimed.ClientPort, &claimed.PeerPort, &claimed.HTTPPort); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.state.Etcd = claimed
	return writeState(f.paths, f.state)
}

func (f *Fleet) claimPorts(ctx context.Context, ports ...*int) error {
	for _, port := range ports {
		claimed, err := f.registry.Claim(ctx, f.paths.root)
		if err != nil {
			return err
		}
		*port = claimed
	}
	return nil
}
