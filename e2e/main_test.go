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
	"testing"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/daytwo-dev/daytwo/e2e/environment"
	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
)

const (
	fullClusters = 2
	// bareClusters are an API server each, where no pods and no deleted namespaces are needed.
	bareClusters = 5
)

var (
	env      *environment.Environment
	clusters *pool

	seed = flag.Int64("seed", time.Now().UnixNano(), "of the random moments at which the manager is killed")
)

func TestMain(m *testing.M) {
	flag.Parse()
	// Tests wait more than they work, so that processors are no measure for how many run at a time.
	_ = flag.Set("test.parallel", "8") // The flag exists.
	log.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	rest.SetDefaultWarningHandler(rest.NoWarnings{})
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// run leaves nothing behind, except logs when a test failed.
func run(m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp("", "daytwo-e2e")
	if err != nil {
		return 1, err
	}
	defer func() {
		if code == 0 && err == nil {
			err = os.RemoveAll(dir)
			return
		}
		fmt.Fprintln(os.Stderr, "logs are in", dir)
	}()
	env, err = environment.Start(context.Background(), environment.Options{
		StateDir: dir, Clusters: fullClusters, Progress: os.Stderr,
		// The registries of the tests are at the loopback address.
		ManagerArgs: []string{"--leader-election=off", "--allow-private-sources", "--orphan-head-start=2s"},
	})
	if err != nil {
		return 1, err
	}
	defer func() {
		if closeErr := env.Close(); err == nil {
			err = closeErr
		}
	}()
	if clusters, err = startPool(context.Background()); err != nil {
		return 1, err
	}
	return m.Run(), nil
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
