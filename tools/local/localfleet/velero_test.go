package localfleet_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
	"github.com/daytwo-dev/daytwo/tools/local/manifests"
)

// TestVelero has two clusters and one on order, each with a server of its own.
func TestVelero(t *testing.T) {
	t.Parallel()
	options := ordering(t.TempDir())
	options.Velero, options.Clusters = true, 1
	fleet := startFleet(t, options)
	o := ordersFrom(t, fleet)
	o.mustCreate(t, o.newCluster("ordered", "small", 0, nil))
	cluster := clusterOf(t, fleet, "workload-1")
	bucket := useStorage(t, fleet, cluster)

	t.Run("what was backed up is restored", func(t *testing.T) { testBackupRestores(t, cluster, bucket) })
	t.Run("a server that was killed can be started again", func(t *testing.T) {
		if err := cluster.KillVelero(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := cluster.StartVelero(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("the storage keeps what it has over a crash", func(t *testing.T) {
		if err := fleet.KillStorage(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := fleet.StartStorage(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(bucket, "backups", "first", "velero-backup.json")); err != nil {
			t.Error(err)
		}
	})
	t.Run("an account has a name of its own", func(t *testing.T) {
		if err := fleet.CreateStorageAccount(t.Context(), "acme", "a-secret-of-acme"); err != nil {
			t.Fatal(err)
		}
		if err := fleet.CreateStorageAccount(t.Context(), "acme", "another"); err == nil {
			t.Error("there are two accounts of one name")
		}
	})
	t.Run("a cluster on order has a server too", func(t *testing.T) {
		o.expectCondition(t, "ordered", "Available", "True")
		program := localfleet.OrderedName(orderNamespace, "ordered") + "/velero"
		if pids := runningPIDs(t, fleet.StateDir()); pids[program] == 0 {
			t.Errorf("%s does not run: %v", program, pids)
		}
	})
}

// useStorage gives the cluster's Velero a bucket, and returns its directory.
func useStorage(t *testing.T, fleet *localfleet.Fleet, cluster *localfleet.Cluster) (dir string) {
	t.Helper()
	dir, err := fleet.CreateBucket("backups")
	if err != nil {
		t.Fatal(err)
	}
	storage, err := fleet.Storage()
	if err != nil {
		t.Fatal(err)
	}
	applyTo(t, cluster, fmt.Sprintf(`
apiVersion: v1
kind: Secret
metadata: {name: storage, namespace: velero}
stringData:
  cloud: |
    [default]
    aws_access_key_id=%s
    aws_secret_access_key=%s
---
apiVersion: velero.io/v1
kind: BackupStorageLocation
metadata: {name: default, namespace: velero}
spec:
  provider: aws
  default: true
  credential: {name: storage, key: cloud}
  objectStorage: {bucket: backups, caCert: %s}
  config: {region: %s, s3ForcePathStyle: "true", s3Url: %q, checksumAlgorithm: ""}
`, storage.AccessKey, storage.SecretKey, base64.StdEncoding.EncodeToString(storage.CA), storage.Region, storage.Endpoint))
	waitForPhase(t, cluster, "BackupStorageLocation", "default", "Available")
	return dir
}

func testBackupRestores(t *testing.T, cluster *localfleet.Cluster, bucket string) {
	client := clientOf(t, cluster)
	createNamespace(t, client, "shop")
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}, Data: map[string]string{"color": "blue"}}
	if _, err := client.CoreV1().ConfigMaps("shop").Create(t.Context(), settings, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	applyTo(t, cluster, `
apiVersion: velero.io/v1
kind: Backup
metadata: {name: first, namespace: velero}
spec: {includedNamespaces: [shop], storageLocation: default}
`)
	waitForPhase(t, cluster, "Backup", "first", "Completed")
	if _, err := os.Stat(filepath.Join(bucket, "backups", "first", "first.tar.gz")); err != nil {
		t.Errorf("the backup is not in the bucket: %v", err)
	}
	applyTo(t, cluster, `
apiVersion: velero.io/v1
kind: Restore
metadata: {name: first, namespace: velero}
spec: {backupName: first, namespaceMapping: {shop: shop-again}}
`)
	waitForPhase(t, cluster, "Restore", "first", "Completed")
	restored, err := client.CoreV1().ConfigMaps("shop-again").Get(t.Context(), "settings", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if restored.Data["color"] != "blue" {
		t.Errorf("restored %v", restored.Data)
	}
}

func applyTo(t *testing.T, cluster *localfleet.Cluster, text string) {
	t.Helper()
	objects, err := manifests.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := manifests.Apply(t.Context(), cluster.Config(), objects); err != nil {
		t.Fatal(err)
	}
}

// waitForPhase waits for what Velero makes of an object.
func waitForPhase(t *testing.T, cluster *localfleet.Cluster, kind, name, want string) {
	t.Helper()
	client, err := dynamic.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	resource, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Group: "velero.io", Version: "v1", Kind: kind})
	objects := client.Resource(resource).Namespace("velero")
	var last string
	soon(t, func(ctx context.Context) (bool, error) {
		object, err := objects.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		last, _, _ = unstructured.NestedString(object.Object, "status", "phase")
		return last == want, nil
	}, func() string { return fmt.Sprintf("%s %s is %q, not %s", kind, name, last, want) })
}
