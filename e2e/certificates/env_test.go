package certificates

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/daytwo-dev/daytwo/e2e/environment"
	"github.com/daytwo-dev/daytwo/tools/local/fixture"
)

// env is shared by the tests: three workload clusters, cert-manager in the management cluster, and the manager, whose
// webhooks serve what cert-manager issues. No cluster collects garbage: the CertificateRequests of a Certificate that is
// deleted stay, and so does a namespace.
var env *environment.Environment

// stateDir is where the fleet keeps its files.
var stateDir string

// mounted is --webhook-cert-dir.
var mounted mount

func TestMain(m *testing.M) { os.Exit(fixture.Main(m, 4, start)) }

func start(ctx context.Context, dir string) (end func() error, err error) {
	mounted, stateDir = mount(filepath.Join(dir, "webhook")), filepath.Join(dir, "fleet")
	env, err = environment.Start(ctx, environment.Options{
		StateDir: stateDir, Clusters: 3, Bare: true, CertManager: true, Progress: os.Stderr,
		ManagerArgs:   []string{"--leader-election=off", "--allow-private-probes", "--webhook-cert-dir=" + string(mounted)},
		BeforeManager: deployWebhooks,
	})
	if err != nil {
		return nil, err
	}
	return env.Close, nil
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
