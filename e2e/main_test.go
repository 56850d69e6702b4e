// Package e2e tests the manager as a whole: a process with the rights of the generated roles, real
// clusters around it, and what people do to both.
//
// All tests share one environment. Tests that end the manager, or weigh it, run one after the other;
// the others follow, at the same time. A customer (customer_test.go) is what each has for itself.
package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/daytwo-dev/daytwo/e2e/environment"
	"github.com/daytwo-dev/daytwo/e2e/faults"
	"github.com/daytwo-dev/daytwo/tools/local/fixture"
	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
	"github.com/daytwo-dev/daytwo/tools/local/samplecharts"
)

const (
	fullClusters = 2
	// bareClusters are an API server each, where no pods and no deleted namespaces are needed.
	bareClusters = 5
)

var (
	env      *environment.Environment
	clusters *pool
	// toManagement is between the manager and the management cluster.
	toManagement *faults.Proxy

	seed = flag.Int64("seed", time.Now().UnixNano(), "of the random moments at which the manager is killed")
)

func TestMain(m *testing.M) {
	os.Exit(fixture.Main(m, 8, start))
}

func start(ctx context.Context, dir string) (end func() error, err error) {
	mirror, err := samplecharts.Write(filepath.Join(dir, "charts"))
	if err != nil {
		return nil, err
	}
	env, err = environment.Start(ctx, environment.Options{
		StateDir: filepath.Join(dir, "fleet"), Clusters: fullClusters, Progress: os.Stderr,
		// The registries of the tests are at the loopback address.
		ManagerArgs: []string{"--leader-election=off", "--allow-private-sources", "--allow-backup-hooks", "--orphan-head-start=2s", mirror},

		ManagerKubeconfig: throughProxy,
	})
	if err != nil {
		return nil, err
	}
	clusters, err = startPool(ctx)
	return func() error {
		defer toManagement.Close()
		return env.Close()
	}, err
}

// throughProxy leads the manager to the management cluster through a proxy, with the manager's own rights.
func throughProxy(direct []byte) ([]byte, error) {
	if toManagement == nil {
		upstream, err := clientcmd.RESTConfigFromKubeConfig(direct)
		if err != nil {
			return nil, err
		}
		if toManagement, err = faults.New(upstream); err != nil {
			return nil, err
		}
	}
	return toManagement.Kubeconfig(), nil
}

// startPool adds the bare clusters to the full ones.
func startPool(ctx context.Context) (*pool, error) {
	p := newPool()
	for _, cluster := range env.Fleet.Clusters() {
		p.full = append(p.full, cluster.Name())
	}
	group, ctx := errgroup.WithContext(ctx)
	for i := range bareClusters {
		name := fmt.Sprintf("bare-%d", i+1)
		p.bare = append(p.bare, name)
		audit, err := auditArgs(name)
		if err != nil {
			return nil, err
		}
		group.Go(func() error {
			_, err := env.Fleet.AddCluster(ctx, name, localfleet.ClusterOptions{Bare: true, APIServerArgs: audit})
			return err
		})
	}
	return p, group.Wait()
}
