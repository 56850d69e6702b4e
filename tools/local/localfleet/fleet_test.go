package localfleet_test

import (
	"bufio"
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
)

func namespace(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// runStarter lets another process start a fleet, and returns that process once it has.
func runStarter(t *testing.T, role, stateDir string) *exec.Cmd {
	t.Helper()
	starter := exec.Command(os.Args[0])
	starter.Env = append(os.Environ(), roleVariable+"="+role, stateVariable+"="+stateDir)
	starter.Stderr = os.Stderr
	output, err := starter.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := starter.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = starter.Process.Kill() }) // It may have been killed already.
	if line, err := bufio.NewReader(output).ReadString('\n'); err != nil {
		t.Fatalf("the starter said %q: %v", line, err)
	}
	return starter
}

func TestAFleetDiesWithAStarterThatIsKilled(t *testing.T) {
	stateDir := t.TempDir()
	starter := runStarter(t, roleStarter, stateDir)
	before := runningPIDs(t, stateDir)
	if len(before) != 3 {
		t.Fatalf("running: %v, want etcd and two API servers", before)
	}
	if err := starter.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = starter.Wait() // It was killed.

	// Elsewhere it takes the next start to end them.
	if runtime.GOOS == "linux" {
		eventually(t, "processes outlive their starter", func(context.Context) (bool, error) {
			return len(runningPIDs(t, stateDir)) == 0, nil
		})
	}
	startFleet(t, bare(stateDir, 0))
	for name, pid := range before {
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("%s of the killed fleet still runs as process %d", name, pid)
		}
	}
	if names := slices.Sorted(maps.Keys(runningPIDs(t, stateDir))); !slices.Equal(names, []string{"etcd", "management"}) {
		t.Errorf("running after the next start: %v", names)
	}
}

func TestADetachedFleetGoesOn(t *testing.T) {
	stateDir := t.TempDir()
	options := bare(stateDir, 0)
	options.Detached = true
	fleet, err := localfleet.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := localfleet.Down(context.Background(), stateDir); err != nil {
			t.Error(err)
		}
	})
	if _, err := fleet.InstallWebhooks(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if err := fleet.Close(); err != nil {
		t.Fatal(err)
	}
	t.Run("a start leaves it alone", func(t *testing.T) { testStartLeavesADetachedFleetAlone(t, stateDir) })
	t.Run("its manager keeps its ports when it gets more", func(t *testing.T) {
		testManagerKeepsItsPortsWhenItGetsMore(t, fleet)
	})
}

func testStartLeavesADetachedFleetAlone(t *testing.T, stateDir string) {
	before := runningPIDs(t, stateDir)
	_, err := localfleet.Start(t.Context(), bare(stateDir, 0))
	if err == nil || !strings.Contains(err.Error(), "run down first") {
		t.Errorf("Start() over a fleet that is to stay = %v, want it refused", err)
	}
	if after := runningPIDs(t, stateDir); !maps.Equal(before, after) {
		t.Errorf("running before %v, after %v", before, after)
	}
}

func testRemovedClusterIsGoneWithItsData(t *testing.T, fleet *localfleet.Fleet) {
	options := localfleet.ClusterOptions{Bare: true, APIServerArgs: []string{"--min-request-timeout=5"}}
	added, err := fleet.AddCluster(t.Context(), "extra", options)
	if err != nil {
		t.Fatal(err)
	}
	createNamespace(t, clientOf(t, added), "kept-in-etcd")
	if _, err := fleet.AddCluster(t.Context(), "extra", options); err == nil {
		t.Error("a second cluster of the same name was added")
	}
	if err := fleet.RemoveCluster(t.Context(), "extra"); err != nil {
		t.Fatal(err)
	}
	if _, err := fleet.Cluster("extra"); err == nil {
		t.Error("the cluster is still there")
	}
	if _, err := os.Stat(filepath.Join(fleet.StateDir(), "clusters", "extra.kubeconfig")); !os.IsNotExist(err) {
		t.Errorf("its kubeconfig is still there: %v", err)
	}

	again, err := fleet.AddCluster(t.Context(), "extra", options)
	if err != nil {
		t.Fatal(err)
	}
	_, err = clientOf(t, again).CoreV1().Namespaces().Get(t.Context(), "kept-in-etcd", metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the new cluster has data of the removed one: %v", err)
	}
	if err := fleet.RemoveCluster(t.Context(), "extra"); err != nil {
		t.Error(err)
	}
}

func TestOrderedClustersOfADetachedFleetGoOnWithoutTheirProvider(t *testing.T) {
	options := ordering(t.TempDir())
	options.Detached = true
	fleet, err := localfleet.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := localfleet.Down(context.Background(), fleet.StateDir()); err != nil {
			t.Error(err)
		}
	})
	o := ordersFrom(t, fleet)
	o.mustCreate(t, o.newCluster("free", "small", 0, nil))
	o.expectCondition(t, "free", "ControlPlaneAvailable", "True")
	before := fleet.Ordered(orderNamespace, "free").PID()

	if err := fleet.KillProvider(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := o.workload(t, "free").Discovery().ServerVersion(); err != nil {
		t.Errorf("the cluster does not answer while its provider is away: %v", err)
	}
	if err := fleet.StartClusterAPI(t.Context()); err != nil {
		t.Fatal(err)
	}
	o.expectCondition(t, "free", "ControlPlaneAvailable", "True")
	if after := fleet.Ordered(orderNamespace, "free").PID(); before == 0 || after != before {
		t.Errorf("the API server was process %d, and is %d with another provider", before, after)
	}
	running := runningPIDs(t, fleet.StateDir())
	if err := fleet.Close(); err != nil {
		t.Fatal(err)
	}
	if err := localfleet.Down(t.Context(), fleet.StateDir()); err != nil {
		t.Fatal(err)
	}
	for name, pid := range running {
		// Whoever adopted the killed provider's children takes a moment to bury them.
		eventually(t, name+" outlives the fleet", func(context.Context) (bool, error) {
			return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH), nil
		})
	}
}
