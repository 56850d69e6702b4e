package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daytwo-dev/daytwo/e2e/pages"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
)

const root = ".."

// runDocumentedCommands runs the commands of all pages, in their order, with a cluster as workload-1. They can be
// repeated, so that a person may: what a block shows may come a moment after the commands of the block before.
func (c *customer) runDocumentedCommands(cluster string) {
	c.Helper()
	workload, err := env.Fleet.Cluster(cluster)
	must(c, err)
	kubectl, err := localfleet.Kubectl(c.Context(), c.Output())
	must(c, err)
	workspace, err := pages.NewWorkspace(c.TempDir(), root, kubectl, map[string][]byte{
		"management.kubeconfig":          env.Fleet.Management().Kubeconfig(),
		"clusters/workload-1.kubeconfig": workload.Kubeconfig(),
	})
	must(c, err)
	blocks, err := pages.OfClass(root, pages.Commands)
	must(c, err)
	ran := 0
	for _, block := range blocks {
		if block.UsesMake() {
			continue
		}
		ran++
		expect.Eventually(c, block.String()+" works", func(ctx context.Context) error {
			_, err := workspace.Run(ctx, block)
			return err
		})
	}
	if ran == 0 {
		c.Error("no page has commands for the local fleet")
	}
}

// The API server and the admission policies and webhooks take the manifests of all pages; nothing of them is written.
func TestDocumentedManifestsAreAccepted(t *testing.T) {
	t.Parallel()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "customer-acme"}}
	must(t, env.Admin.Create(t.Context(), namespace))
	t.Cleanup(func() { must(t, env.Admin.Delete(context.Background(), namespace)) })
	objects, err := pages.Objects(root)
	must(t, err)
	for _, object := range objects {
		misspelt := object.DeepCopy()
		must(t, unstructured.SetNestedField(misspelt.Object, "value", "spec", "noSuchField"))
		if err := dryRun(t, object.Unstructured); err != nil {
			t.Errorf("%s: %v", object, err)
		}
		if err := dryRun(t, misspelt); err == nil {
			t.Errorf("%s: a field that there is not is not noticed", object)
		}
	}
}

func dryRun(t *testing.T, object *unstructured.Unstructured) error {
	t.Helper()
	return env.Admin.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("kubectl"), client.DryRunAll)
}

var (
	// documentedFlag is a row of the table of flags: name and default.
	documentedFlag = regexp.MustCompile("(?m)^\\| `--([a-z-]+)` \\| ([^|]*) \\|")
	// flagOfHelp is a flag and what --help says of it.
	flagOfHelp    = regexp.MustCompile(`(?m)^  -([a-z-]+).*\n\s+(.*)$`)
	defaultOfHelp = regexp.MustCompile(`\(default "?([^"()]*)"?\)$`)
)

func TestTheTableOfFlagsIsThatOfTheManager(t *testing.T) {
	t.Parallel()
	help, err := exec.Command(env.Manager.Binary(), "--help").Output()
	must(t, err)
	defaults := map[string]string{}
	for _, match := range flagOfHelp.FindAllStringSubmatch(string(help), -1) {
		defaults[match[1]] = ""
		if value := defaultOfHelp.FindStringSubmatch(match[2]); value != nil {
			defaults[match[1]] = value[1]
		}
	}
	if len(defaults) == 0 {
		t.Fatalf("--help tells of no flag:\n%s", help)
	}
	content, err := os.ReadFile(filepath.Join(root, "docs/operations.md"))
	must(t, err)
	for _, row := range documentedFlag.FindAllStringSubmatch(string(content), -1) {
		value, ok := defaults[row[1]]
		if !ok {
			t.Errorf("docs/operations.md has the flag --%s, and the manager has not", row[1])
			continue
		}
		delete(defaults, row[1])
		// A default that is too long for a table is linked to.
		if value != "" && !strings.Contains(row[2], "](") && !sameValue(value, strings.Trim(row[2], "`")) {
			t.Errorf("docs/operations.md says that the default of --%s is %s, and --help says %s", row[1], row[2], value)
		}
	}
	for name := range defaults {
		t.Errorf("the manager has the flag --%s, and docs/operations.md has not", name)
	}
}

// sameValue takes 1m for 1m0s.
func sameValue(one, other string) bool {
	first, err := time.ParseDuration(one)
	second, otherErr := time.ParseDuration(other)
	return one == other || (err == nil && otherErr == nil && first == second)
}
