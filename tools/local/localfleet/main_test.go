package localfleet_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/daytwo-dev/daytwo/tools/local/expect"
	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
)

// Some tests need another program beside the test itself. The test's binary
// plays it when this variable says so.
const (
	roleVariable  = "LOCALFLEET_TEST_ROLE"
	stateVariable = "LOCALFLEET_TEST_STATE"
	// exitCodeVariable is what roleManager ends with.
	exitCodeVariable = "LOCALFLEET_TEST_EXIT_CODE"

	roleManager       = "manager"
	roleBrokenManager = "broken-manager"
	roleSilentManager = "silent-manager"
	roleStarter       = "starter"
	// roleOrderStarter starts a fleet with Cluster API.
	roleOrderStarter = "order-starter"
)

func TestMain(m *testing.M) {
	var err error
	switch role := os.Getenv(roleVariable); role {
	case "":
		os.Exit(m.Run())
	case roleManager:
		err = playManager()
	case roleBrokenManager:
		err = fmt.Errorf("flag provided but not defined: %v", os.Args[1:])
	case roleSilentManager:
		os.Exit(3)
	case roleStarter:
		err = playStarter(bare(os.Getenv(stateVariable), 1))
	case roleOrderStarter:
		err = playStarter(ordering(os.Getenv(stateVariable)))
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// playManager is ready once its kubeconfig leads to the management cluster. When it is asked to end, it
// does with the exit code that it was told.
func playManager() error {
	exitCode, err := strconv.Atoi(os.Getenv(exitCodeVariable))
	if err != nil {
		return err
	}
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM)
	go func() {
		<-asked
		fmt.Println("asked to end")
		os.Exit(exitCode)
	}()
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	http.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		if _, err := client.Discovery().ServerVersion(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	})
	for _, arg := range os.Args[1:] {
		if address, ok := strings.CutPrefix(arg, "--health-probe-bind-address="); ok {
			return http.ListenAndServe(address, nil)
		}
	}
	return fmt.Errorf("no health address in %v", os.Args)
}

// playStarter starts a fleet and waits to be killed.
func playStarter(options localfleet.Options) error {
	options.Progress = os.Stderr
	if _, err := localfleet.Start(context.Background(), options); err != nil {
		return err
	}
	fmt.Println("started")
	select {}
}

func bare(stateDir string, clusters int) localfleet.Options {
	return localfleet.Options{
		StateDir:       stateDir,
		Clusters:       clusters,
		ClusterOptions: localfleet.ClusterOptions{Bare: true},
	}
}

// startFleet starts a fleet that ends with the test.
func startFleet(t *testing.T, options localfleet.Options) *localfleet.Fleet {
	t.Helper()
	fleet, err := localfleet.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := fleet.Close(); err != nil {
			t.Error(err)
		}
	})
	return fleet
}

func clusterOf(t *testing.T, fleet *localfleet.Fleet, name string) *localfleet.Cluster {
	t.Helper()
	cluster, err := fleet.Cluster(name)
	if err != nil {
		t.Fatal(err)
	}
	return cluster
}

func clientOf(t *testing.T, cluster *localfleet.Cluster) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func createNamespace(t *testing.T, client kubernetes.Interface, name string) {
	t.Helper()
	_, err := client.CoreV1().Namespaces().Create(t.Context(), namespace(name), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

func eventually(t *testing.T, what string, condition func(context.Context) (bool, error)) {
	t.Helper()
	expect.EventuallyTrue(t, what, condition)
}

// runningPIDs returns the processes of the fleet's programs by their names.
func runningPIDs(t *testing.T, stateDir string) map[string]int {
	t.Helper()
	programs, err := localfleet.Status(stateDir)
	if err != nil {
		t.Fatal(err)
	}
	pids := map[string]int{}
	for _, program := range programs {
		if program.Up {
			pids[program.Name] = program.PID
		}
	}
	return pids
}
