package localfleet

import (
	"context"
	"fmt"
	"syscall"

	"github.com/daytwo-dev/daytwo/tools/local/internal/process"
)

// OrderedCluster is the API server of a cluster that was ordered through Cluster
// API, for whoever wants to break it: it is the provider that starts it, and
// starts it again.
type OrderedCluster struct {
	fleet *Fleet
	name  string
}

// Ordered returns the API server of a Cluster of the management cluster.
func (f *Fleet) Ordered(namespace, name string) OrderedCluster {
	return OrderedCluster{fleet: f, name: OrderedName(namespace, name)}
}

// PID returns the API server's process id; 0 if it does not run.
func (o OrderedCluster) PID() int {
	p, err := o.lookup()
	if err != nil {
		return 0
	}
	return p.PID()
}

// Kill ends the API server without a warning (SIGKILL), and waits until it is
// gone. The provider starts another one.
func (o OrderedCluster) Kill(ctx context.Context) error {
	p, err := o.lookup()
	if err != nil {
		return err
	}
	return p.Kill(ctx)
}

// Destroy ends the API server without a warning, and deletes everything that the cluster had. What the provider starts in
// its place is an empty cluster at the same address.
func (o OrderedCluster) Destroy(ctx context.Context) error {
	// Nobody writes meanwhile.
	if err := o.Pause(); err != nil {
		return err
	}
	etcd, err := o.fleet.etcdClient(o.fleet.sharedEtcd())
	if err != nil {
		return err
	}
	defer etcd.close()
	if err := etcd.deletePrefix(ctx, etcdPrefix(o.name)); err != nil {
		return fmt.Errorf("delete the data of %s: %w", o.name, err)
	}
	return o.Kill(ctx)
}

// Pause freezes the API server, as Cluster.Pause does.
func (o OrderedCluster) Pause() error {
	p, err := o.lookup()
	if err != nil {
		return err
	}
	return p.Pause(context.Background())
}

// Resume lets a paused API server go on.
func (o OrderedCluster) Resume() error {
	p, err := o.lookup()
	if err != nil {
		return err
	}
	return p.Signal(syscall.SIGCONT)
}

func (o OrderedCluster) lookup() (*process.Process, error) {
	table, err := process.NewTable(o.fleet.paths.ordered().records(), process.Detached)
	if err != nil {
		return nil, err
	}
	defer table.Close()
	p, running := table.Lookup(programName(o.name, apiServer))
	if !running {
		return nil, fmt.Errorf("the API server of %s does not run", o.name)
	}
	return p, nil
}
