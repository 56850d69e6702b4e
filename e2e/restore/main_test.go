// Package restore tests what becomes of workload clusters when the management cluster is put back to a backup.
package restore

import (
	"context"
	"os"
	"testing"

	"github.com/daytwo-dev/daytwo/e2e/environment"
	"github.com/daytwo-dev/daytwo/tools/local/fixture"
)

const (
	customer = "customer"
	workload = "workload-1"
)

var env *environment.Environment

func TestMain(m *testing.M) {
	os.Exit(fixture.Main(m, 1, start))
}

func start(ctx context.Context, dir string) (end func() error, err error) {
	env, err = environment.Start(ctx, environment.Options{
		StateDir: dir, Clusters: 1, Bare: true, OwnEtcd: true, Progress: os.Stderr,
		ManagerArgs: []string{"--leader-election=off"},
	})
	if err != nil {
		return nil, err
	}
	return env.Close, env.Register(ctx, customer, workload, nil)
}
