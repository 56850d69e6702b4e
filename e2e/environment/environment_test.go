package environment_test

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/e2e/environment"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

func TestTheManagerComesBackAfterItsEnd(t *testing.T) {
	env, err := environment.Start(t.Context(), environment.Options{
		StateDir: t.TempDir(), Clusters: 1, Bare: true,
		ManagerArgs: []string{"--leader-election=off"}, Progress: t.Output(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		pid := env.Manager.PID()
		if err := env.Close(); err != nil {
			t.Error(err)
		}
		if syscall.Kill(pid, 0) == nil {
			t.Errorf("process %d, the manager, outlives its environment", pid)
		}
	})
	if err := env.Register(t.Context(), "customer-acme", "workload-1", map[string]string{"tier": "gold"}); err != nil {
		t.Fatal(err)
	}
	waitReady(t, env.Admin, client.ObjectKey{Namespace: "customer-acme", Name: "workload-1"})

	ways := map[string]func() error{
		"stop": func() error { return env.Manager.Stop(t.Context()) },
		"kill": env.Manager.Kill,
	}
	for how, end := range ways {
		if err := end(); err != nil {
			t.Fatalf("%s: %v", how, err)
		}
		if pid := env.Manager.PID(); pid != 0 {
			t.Fatalf("the manager runs as process %d after %s", pid, how)
		}
		if err := env.Manager.Start(t.Context()); err != nil {
			t.Fatalf("start after %s: %v", how, err)
		}
		families, err := env.Manager.Metrics(t.Context())
		if err != nil {
			t.Fatalf("metrics after %s: %v", how, err)
		}
		if families["process_start_time_seconds"] == nil {
			t.Errorf("no metrics of the process after %s", how)
		}
	}
	if _, err := os.Stat(env.Manager.LogPath()); err != nil {
		t.Error(err)
	}
}

func waitReady(t *testing.T, c client.Client, key client.ObjectKey) {
	t.Helper()
	cluster := &tenancyv1alpha1.TenantCluster{}
	expect.Eventually(t, fmt.Sprintf("TenantCluster %s is ready", key), func(ctx context.Context) error {
		if err := c.Get(ctx, key, cluster); err != nil {
			return err
		}
		return expect.Condition(cluster.Status.Conditions, metav1alpha1.ConditionReady, metav1.ConditionTrue, "")
	})
}
