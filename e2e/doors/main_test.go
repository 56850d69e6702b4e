// Package doors tries, from a customer's side, to get at what the manager can reach and the customer cannot: the manager here
// runs as in production, with no address of its own machine permitted.
package doors

import (
	"context"
	"net"
	"os"
	"testing"

	"github.com/daytwo-dev/daytwo/e2e/environment"
	"github.com/daytwo-dev/daytwo/tools/local/fixture"
)

const customer = "customer"

var (
	env *environment.Environment
	// metricsPort is where the manager serves its metrics, at all addresses of the machine.
	metricsPort string
)

func TestMain(m *testing.M) { os.Exit(fixture.Main(m, 0, start)) }

func start(ctx context.Context, dir string) (end func() error, err error) {
	if metricsPort, err = freePort(ctx); err != nil {
		return nil, err
	}
	env, err = environment.Start(ctx, environment.Options{
		StateDir: dir, Clusters: 1, Bare: true, Progress: os.Stderr,
		ManagerArgs: []string{
			"--leader-election=off", "--allow-loopback-clusters=false", "--allow-proxy-url", "--metrics-bind-address=0.0.0.0:" + metricsPort,
		},
	})
	if err != nil {
		return nil, err
	}
	return env.Close, nil
}

func freePort(ctx context.Context) (string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	return port, listener.Close()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
