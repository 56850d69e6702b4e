package localfleet

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/client-go/rest"
)

// KubernetesVersions returns the versions that clusters of the fleet can have, as
// in "v1.36.3", ascending.
func (f *Fleet) KubernetesVersions() []string {
	versions, err := f.components.Versions(apiServer)
	if err != nil {
		return nil // The modules were there when the fleet was started.
	}
	return versions
}

// Options returns what the cluster is to be.
func (c *Cluster) Options() ClusterOptions {
	c.fleet.mu.Lock()
	defer c.fleet.mu.Unlock()
	return c.options
}

// Running tells whether all programs of the cluster run. It does not tell whether
// they are ready.
func (c *Cluster) Running() bool {
	s := clusterState{Name: c.name, ClusterOptions: c.Options()}
	for _, binary := range append(s.companions(), apiServer) {
		if _, running := c.lookup(binary); !running {
			return false
		}
	}
	return true
}

// Ready returns an error if the API server doesn't answer that it is ready within
// two seconds.
func (c *Cluster) Ready(ctx context.Context) error {
	client, err := rest.HTTPClientFor(c.config)
	if err != nil {
		return err
	}
	return getOK(ctx, client, c.Endpoint()+"/readyz")
}

// Reconfigure ends the cluster's programs and starts them as the options say: in
// another version, or with other flags. Data, keys and endpoint stay. A version
// that cannot be had is refused before anything ends.
func (c *Cluster) Reconfigure(ctx context.Context, options ClusterOptions) error {
	if options.OwnEtcd != c.Options().OwnEtcd {
		return fmt.Errorf("cluster %s cannot move to another etcd: remove it, and add it again", c.name)
	}
	if _, err := c.fleet.components.BinaryAt(ctx, apiServer, options.Version); err != nil {
		return err
	}
	if err := c.Stop(ctx); err != nil {
		return err
	}
	// Not earlier: what is recorded and what runs would differ if we ended here.
	if err := c.fleet.recordOptions(c, options); err != nil {
		return err
	}
	return c.Start(ctx)
}

func (f *Fleet) recordOptions(c *Cluster, options ClusterOptions) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.IndexFunc(f.state.Clusters, func(s clusterState) bool { return s.Name == c.name })
	if i < 0 {
		return nil // It was removed meanwhile.
	}
	c.options = options
	f.state.Clusters[i].ClusterOptions = options
	return writeState(f.paths, f.state)
}
