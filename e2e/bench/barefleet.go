package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strconv"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/tools/clientcmd"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/e2e/bench/floor"
)

// kubeconfig is the file that the local fleet wrote for a cluster.
func (b *bench) kubeconfig(cluster string) string {
	return filepath.Join(b.env.Fleet.StateDir(), "clusters", cluster+".kubeconfig")
}

// bareFleet keeps the same watches as the manager, on the same objects, and does nothing about what
// they show.
type bareFleet struct {
	installation string
	kubeconfigs  []string
	keepers      []*keptCluster
}

// keptCluster is a cluster that was listed, with what is kept of it.
type keptCluster struct {
	client   *floor.Cluster
	keepers  []*floor.Keeper
	versions []string
}

// keep grows to as many clusters as the input says, line by line.
func (f *bareFleet) keep(ctx context.Context, in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		count, err := strconv.Atoi(lines.Text())
		if err != nil {
			return err
		}
		known := len(f.keepers)
		if err := f.grow(ctx, count); err != nil {
			return err
		}
		for _, cluster := range f.keepers[known:] {
			if err := cluster.watch(ctx); err != nil {
				return err
			}
		}
		now := ownUsage()
		if _, err := fmt.Fprintln(out, now.live, now.heap, now.stacks); err != nil {
			return err
		}
	}
	return lines.Err()
}

// grow connects to as many clusters as are missing, at the same time, and lists.
func (f *bareFleet) grow(ctx context.Context, count int) error {
	known := len(f.keepers)
	f.keepers = append(f.keepers, make([]*keptCluster, count-known)...)
	group, ctx := errgroup.WithContext(ctx)
	for i := known; i < count; i++ {
		group.Go(func() error {
			var err error
			f.keepers[i], err = f.list(ctx, f.kubeconfigs[i])
			return err
		})
	}
	return group.Wait()
}

func (f *bareFleet) list(ctx context.Context, kubeconfig string) (*keptCluster, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1 // The server's own fairness is limit enough.
	client, err := floor.Connect(config)
	if err != nil {
		return nil, err
	}
	kept := &keptCluster{client: client}
	for _, kind := range kindsInUse() {
		keeper, version, err := client.Keep(ctx, kind, map[string]string{metav1alpha1.LabelManagedBy: f.installation})
		if err != nil {
			return nil, err
		}
		kept.keepers, kept.versions = append(kept.keepers, keeper), append(kept.versions, version)
	}
	return kept, nil
}

// watch goes on from the lists, as long as the context lasts. It returns when all watches are open.
func (c *keptCluster) watch(ctx context.Context) error {
	for i, keeper := range c.keepers {
		ended := make(chan error, 1)
		go func() { ended <- keeper.Run(ctx, c.versions[i]) }()
		select {
		case <-keeper.Opened:
		case err := <-ended:
			return err
		}
	}
	return nil
}

// ownUsage returns the memory of this process that is in use, without garbage.
func ownUsage() usage {
	// What a pool holds is let go by the second collection.
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return usage{
		live: float64(stats.HeapAlloc) / 1024, heap: float64(stats.HeapInuse) / 1024, stacks: float64(stats.StackInuse) / 1024,
	}
}
