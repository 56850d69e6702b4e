package localfleet_test

import (
	"context"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
)

func testPutBackToASnapshot(t *testing.T, fleet *localfleet.Fleet) {
	cluster, err := fleet.AddCluster(t.Context(), "restored", localfleet.ClusterOptions{Bare: true, OwnEtcd: true})
	if err != nil {
		t.Fatal(err)
	}
	client, others := clientOf(t, cluster), clientOf(t, fleet.Management())
	createNamespace(t, client, "before")
	snapshot, err := cluster.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	createNamespace(t, others, "of-others")
	// Twice the same snapshot: restoring does not use it up.
	ways := map[string]func(context.Context, localfleet.Snapshot) error{
		"restored": cluster.Restore, "restored under a running API server": cluster.RestoreEtcd,
	}
	for way, restore := range ways {
		createNamespace(t, client, "after")
		if err := restore(t.Context(), snapshot); err != nil {
			t.Fatalf("%s: %v", way, err)
		}
		eventually(t, way+": what came after the snapshot is gone", func(ctx context.Context) (bool, error) {
			_, err := client.CoreV1().Namespaces().Get(ctx, "after", metav1.GetOptions{})
			return apierrors.IsNotFound(err), nil
		})
		hasNamespace(t, client, "before")
	}
	hasNamespace(t, others, "of-others")
	if err := fleet.RemoveCluster(t.Context(), "restored"); err != nil {
		t.Error(err)
	}
	if pid := runningPIDs(t, fleet.StateDir())["restored/etcd"]; pid != 0 {
		t.Errorf("the etcd of a cluster that was removed goes on as process %d", pid)
	}
}

func testSharedEtcdHasNoSnapshots(t *testing.T, fleet *localfleet.Fleet) {
	if _, err := fleet.Management().Snapshot(t.Context()); err == nil || !strings.Contains(err.Error(), "OwnEtcd") {
		t.Errorf("Snapshot() = %v, want an error that names OwnEtcd", err)
	}
}

func hasNamespace(t *testing.T, client kubernetes.Interface, name string) {
	t.Helper()
	if _, err := client.CoreV1().Namespaces().Get(t.Context(), name, metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}
