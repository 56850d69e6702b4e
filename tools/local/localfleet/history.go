package localfleet

import (
	"context"
	"fmt"
)

// ExpireResourceVersions makes the API server answer "410 Gone" to whoever goes
// on from a resourceVersion of before: a watch, or a list's next page. It
// compacts the cluster's etcd, which most clusters share, and restarts the
// cluster, since an API server remembers the latest changes by itself.
func (c *Cluster) ExpireResourceVersions(ctx context.Context) error {
	if err := c.Stop(ctx); err != nil {
		return err
	}
	// A stopped cluster's own etcd is stopped too.
	if err := c.fleet.startEtcd(ctx, c.etcd()); err != nil {
		return err
	}
	if err := c.fleet.compact(ctx, c.etcd()); err != nil {
		return fmt.Errorf("compact etcd: %w", err)
	}
	return c.Start(ctx)
}

func (f *Fleet) compact(ctx context.Context, server etcdServer) error {
	client, err := f.etcdClient(server)
	if err != nil {
		return err
	}
	defer client.close()
	return client.compact(ctx)
}
