package localfleet_test

import (
	"context"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
)

// Each of these leaves the fleet as it was, so they share one.
func TestBareFleet(t *testing.T) {
	fleet := startFleet(t, bare(t.TempDir(), 1))
	tests := map[string]func(*testing.T, *localfleet.Fleet){
		"has its state directory for itself":          testStateDirectoryIsExclusive,
		"refuses to add names that cannot be":         testAddRefusesNames,
		"names a port that somebody else took":        testStartNamesATakenPort,
		"keeps data and endpoint over stop and start": testStopAndStartKeepData,
		"never answers while it is paused":            testPauseSwallowsRequests,
		"gives other users no more than their roles":  testKubeconfigForAddsNoRights,
		"writes private and complete kubeconfigs":     testKubeconfigFiles,
		"has no snapshots of an etcd that is shared":  testSharedEtcdHasNoSnapshots,
		"puts a cluster back to a snapshot":           testPutBackToASnapshot,
		"forgets resource versions that are expired":  testExpiredResourceVersionsAreGone,
		"removes a cluster with its data":             testRemovedClusterIsGoneWithItsData,
		"runs a manager":                              testManager,
		"gets what is installed into it":              testInstallIntoManagement,
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { test(t, fleet) })
	}
}

func testStateDirectoryIsExclusive(t *testing.T, fleet *localfleet.Fleet) {
	_, err := localfleet.Start(t.Context(), bare(fleet.StateDir(), 0))
	if err == nil || !strings.Contains(err.Error(), "choose another state directory") {
		t.Errorf("a second Start() = %v, want it refused", err)
	}
}

func testAddRefusesNames(t *testing.T, fleet *localfleet.Fleet) {
	for _, name := range []string{"", "Upper", "with.dot", "../etc", "management", "etcd", "manager"} {
		if _, err := fleet.AddCluster(t.Context(), name, localfleet.ClusterOptions{}); err == nil {
			t.Errorf("AddCluster(%q) succeeded", name)
		}
	}
}

func testStartNamesATakenPort(t *testing.T, fleet *localfleet.Fleet) {
	cluster := clusterOf(t, fleet, "workload-1")
	if err := cluster.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	endpoint, err := url.Parse(cluster.Endpoint())
	if err != nil {
		t.Fatal(err)
	}
	intruder, err := net.Listen("tcp", endpoint.Host)
	if err != nil {
		t.Fatal(err)
	}
	err = cluster.Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), "port "+endpoint.Port()+" is taken") {
		t.Errorf("Start() = %v, want an error that names port %s", err, endpoint.Port())
	}
	if err := intruder.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cluster.Start(t.Context()); err != nil {
		t.Errorf("Start() with the port free again: %v", err)
	}
}

func testStopAndStartKeepData(t *testing.T, fleet *localfleet.Fleet) {
	cluster := clusterOf(t, fleet, "workload-1")
	client := clientOf(t, cluster)
	createNamespace(t, client, "kept")

	if err := cluster.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Discovery().ServerVersion(); err == nil {
		t.Error("a stopped cluster answers")
	}
	if _, err := clientOf(t, fleet.Management()).Discovery().ServerVersion(); err != nil {
		t.Errorf("the management cluster suffers from another one's end: %v", err)
	}
	if err := cluster.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Namespaces().Get(t.Context(), "kept", metav1.GetOptions{}); err != nil {
		t.Errorf("the same client does not find the data of before: %v", err)
	}
}

func testPauseSwallowsRequests(t *testing.T, fleet *localfleet.Fleet) {
	config := fleet.Management().Config()
	config.Timeout = 500 * time.Millisecond
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := fleet.Management().Pause(); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Discovery().ServerVersion(); !os.IsTimeout(err) {
		t.Errorf("a request to a paused cluster ended with %v, want a timeout", err)
	}
	if err := fleet.Management().Resume(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the cluster stays paused", func(context.Context) (bool, error) {
		_, err := client.Discovery().ServerVersion()
		return err == nil, nil
	})
}

func testKubeconfigForAddsNoRights(t *testing.T, fleet *localfleet.Fleet) {
	kubeconfig, err := fleet.Management().KubeconfigFor("alice", []string{"ops"}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("without a role, listing namespaces ended with %v, want it forbidden", err)
	}
}

func testKubeconfigFiles(t *testing.T, fleet *localfleet.Fleet) {
	for _, name := range []string{"management.kubeconfig", "clusters/workload-1.kubeconfig"} {
		path := filepath.Join(fleet.StateDir(), name)
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %o, want 600", name, info.Mode().Perm())
		}
		config, err := clientcmd.BuildConfigFromFlags("", path)
		if err != nil {
			t.Fatal(err)
		}
		if config.CAFile != "" || config.CertFile != "" || config.KeyFile != "" {
			t.Errorf("%s points to other files", name)
		}
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.CoreV1().Secrets("").List(t.Context(), metav1.ListOptions{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
