package backup

import (
	"context"
	"os"
	"testing"

	"github.com/daytwo-dev/daytwo/e2e/environment"
	"github.com/daytwo-dev/daytwo/tools/local/fixture"
)

var env *environment.Environment

func TestMain(m *testing.M) {
	os.Exit(fixture.Main(m, 4, func(ctx context.Context, dir string) (func() error, error) {
		var err error
		env, err = environment.Start(ctx, environment.Options{
			StateDir: dir, Clusters: 15, Velero: true, ClusterAPI: true, Progress: os.Stderr, ManagerArgs: []string{"--leader-election=off", "--allow-private-storage"},
		})
		if err != nil {
			return nil, err
		}
		return env.Close, nil
	}))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
