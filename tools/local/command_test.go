package main

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
	"github.com/daytwo-dev/daytwo/tools/local/manifests"
)

// run executes a command line as main does.
func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var output bytes.Buffer
	cmd := newCommand()
	cmd.SetArgs(args)
	cmd.SetOut(&output)
	cmd.SetErr(&output)
	// A test's own context has ended already when it cleans up.
	err := cmd.ExecuteContext(context.WithoutCancel(t.Context()))
	return output.String(), err
}

func mustRun(t *testing.T, args ...string) string {
	t.Helper()
	output, err := run(t, args...)
	if err != nil {
		t.Fatalf("local %s: %v\n%s", strings.Join(args, " "), err, output)
	}
	return output
}

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

// kill ends a program, and waits until that can be seen: a process goes on for a moment after its
// SIGKILL.
func kill(t *testing.T, stateDir, name string, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) {
		_, up := runningPIDs(t, stateDir)[name]
		return !up, nil
	})
	if err != nil {
		t.Fatalf("%s does not end: %v", name, err)
	}
}

func clientOf(t *testing.T, kubeconfig string) kubernetes.Interface {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestAFleetFromUpToDown(t *testing.T) {
	dir := t.TempDir()
	t.Cleanup(func() { mustRun(t, "down", "--state-dir", dir) })
	up := []string{"up", "--bare", "--clusters=1", "--webhooks=../../config/webhook/validating.yaml", "--state-dir", dir}
	mustRun(t, up...)
	first := runningPIDs(t, dir)
	management := clientOf(t, filepath.Join(dir, "management.kubeconfig"))
	if _, err := management.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(), "daytwo", metav1.GetOptions{}); err != nil {
		t.Errorf("the configuration of the webhooks: %v", err)
	}
	workload := clientOf(t, filepath.Join(dir, "clusters", "workload-1.kubeconfig"))
	marker := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "marker"}}
	if _, err := workload.CoreV1().ConfigMaps("default").Create(t.Context(), marker, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	expectMarker := func() {
		t.Helper()
		if _, err := workload.CoreV1().ConfigMaps("default").Get(t.Context(), "marker", metav1.GetOptions{}); err != nil {
			t.Errorf("the data of before: %v", err)
		}
	}

	mustRun(t, up...)
	if second := runningPIDs(t, dir); !maps.Equal(first, second) {
		t.Errorf("up for the second time made of %v %v", first, second)
	}

	for _, name := range []string{"workload-1", "etcd"} {
		kill(t, dir, name, first[name])
	}
	mustRun(t, up...)
	expectMarker()
	repaired := runningPIDs(t, dir)
	if repaired["management"] != first["management"] || repaired["workload-1"] == first["workload-1"] {
		t.Errorf("up made of %v, of which etcd and workload-1 were killed, %v", first, repaired)
	}

	testKubectl(t, dir)
	if _, err := run(t, "restart", "--state-dir", dir); err == nil || !strings.Contains(err.Error(), "no manager was started") {
		t.Errorf("the restart of no manager: %v", err)
	}
	testRegistration(t, dir, management)

	mustRun(t, "stop", "workload-1", "--state-dir", dir)
	if table := mustRun(t, "status", "--state-dir", dir); !strings.Contains(table, "down") {
		t.Errorf("status does not show the stopped cluster:\n%s", table)
	}
	mustRun(t, "start", "workload-1", "--state-dir", dir)
	expectMarker()

	running := runningPIDs(t, dir)
	mustRun(t, "down", "--state-dir", dir)
	for name, pid := range running {
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("%s still runs as process %d after down (%v)", name, pid, err)
		}
	}
}

// testKubectl has a program in the place of kubectl that prints what it was called with.
func testKubectl(t *testing.T, dir string) {
	prebuilt := t.TempDir()
	script := "#!/bin/sh\necho \"$KUBECONFIG\" \"$@\"\nexit 3\n"
	if err := os.WriteFile(filepath.Join(prebuilt, "kubectl"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBEBUILDER_ASSETS", prebuilt)
	for _, args := range []string{"get pods -A", "-n fleet get pods --kubeconfig other"} {
		output, err := run(t, append([]string{"--state-dir", dir, "kubectl"}, strings.Fields(args)...)...)
		if want := filepath.Join(dir, "management.kubeconfig") + " " + args + "\n"; output != want {
			t.Errorf("kubectl was called as %q, want %q", output, want)
		}
		var ended *exec.ExitError
		if !errors.As(err, &ended) || ended.ExitCode() != 3 {
			t.Errorf("kubectl ended with %v, want its exit code 3", err)
		}
	}
}

// testRegistration adds a cluster as a TenantCluster, and removes it. No manager is there, so nothing holds the TenantCluster
// but what the test says.
func testRegistration(t *testing.T, dir string, management kubernetes.Interface) {
	definitions, err := manifests.Load("../../config/crd/bases")
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(dir, "management.kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	if err := manifests.Apply(t.Context(), config, definitions); err != nil {
		t.Fatal(err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	tenants := client.Resource(schema.GroupVersionResource{Group: "tenancy.daytwo.dev", Version: "v1alpha1", Resource: "tenantclusters"}).Namespace(localfleet.FleetNamespace)

	if output := mustRun(t, "add", "extra", "--bare", "--register", "--state-dir", dir); !strings.Contains(output, "registered in namespace fleet: extra\n") {
		t.Errorf("add says %q", output)
	}
	if _, err := management.CoreV1().Secrets(localfleet.FleetNamespace).Get(t.Context(), "extra-kubeconfig", metav1.GetOptions{}); err != nil {
		t.Errorf("the kubeconfig of the registered cluster: %v", err)
	}
	hold := func(finalizers string) {
		t.Helper()
		patch := []byte(`{"metadata": {"finalizers": ` + finalizers + `}}`)
		if _, err := tenants.Patch(t.Context(), "extra", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	hold(`["daytwo.dev/test"]`)
	if _, err := run(t, "remove", "extra", "--state-dir", dir); err == nil || !strings.Contains(err.Error(), "does not run: start it with restart") {
		t.Errorf("remove without the manager that has to let the TenantCluster go: %v", err)
	}
	if _, up := runningPIDs(t, dir)["extra"]; !up {
		t.Error("the cluster ended before its TenantCluster was gone")
	}
	hold(`[]`)
	mustRun(t, "remove", "extra", "--state-dir", dir)
	if _, err := tenants.Get(t.Context(), "extra", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the TenantCluster of a cluster that was removed: %v", err)
	}
	if _, err := management.CoreV1().Secrets(localfleet.FleetNamespace).Get(t.Context(), "extra-kubeconfig", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the kubeconfig of a cluster that was removed: %v", err)
	}
	if _, up := runningPIDs(t, dir)["extra"]; up {
		t.Error("the cluster runs after it was removed")
	}
}

func TestNextStepsAreWhatAShellTakes(t *testing.T) {
	usual := nextSteps(".daytwo", true)
	for _, want := range []string{"  export KUBECONFIG=.daytwo/management.kubeconfig\n", "  bin/local restart ", "  bin/local down ", "  kubectl apply -f config/samples/addon.yaml "} {
		if !strings.Contains(usual, want) {
			t.Errorf("without %q:\n%s", want, usual)
		}
	}
	if strings.Contains(usual, "--register") || !strings.Contains(nextSteps(".daytwo", false), "  bin/local up --register ") {
		t.Error("registering is not offered exactly where it is missing")
	}
	elsewhere := nextSteps("/tmp/it's here", true)
	for _, want := range []string{`export KUBECONFIG='/tmp/it'\''s here/management.kubeconfig'`, `bin/local --state-dir '/tmp/it'\''s here' down`} {
		if !strings.Contains(elsewhere, want) {
			t.Errorf("without %q:\n%s", want, elsewhere)
		}
	}
}

func TestCommandsSayWhatToDo(t *testing.T) {
	dir := t.TempDir()
	tests := map[string]struct {
		args []string
		want string
	}{
		"no fleet":             {[]string{"stop", "workload-1"}, "bring one up first"},
		"status of none":       {[]string{"status"}, "bring one up first"},
		"unknown component":    {[]string{"up", "--components=istio"}, "there is only capi, capi-crds, velero, cert-manager"},
		"arguments of nothing": {[]string{"up", "--manager-arg=-v"}, "needs --manager"},
		"a missing name":       {[]string{"add"}, "accepts 1 arg"},
		"no manager to start":  {[]string{"restart"}, "bring one up first"},
		"kubectl for no fleet": {[]string{"kubectl", "get", "pods"}, "bring one up first"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := run(t, append([]string{"--state-dir", dir}, test.args...)...)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("local %s: %v; want %q in it", strings.Join(test.args, " "), err, test.want)
			}
		})
	}
	if output := mustRun(t, "down", "--state-dir", dir); strings.Contains(output, "error") {
		t.Errorf("down without a fleet says %q", output)
	}
}
