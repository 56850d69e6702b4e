package main

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
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
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := run(t, append(test.args, "--state-dir", dir)...)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("local %s: %v; want %q in it", strings.Join(test.args, " "), err, test.want)
			}
		})
	}
	if output := mustRun(t, "down", "--state-dir", dir); strings.Contains(output, "error") {
		t.Errorf("down without a fleet says %q", output)
	}
}
