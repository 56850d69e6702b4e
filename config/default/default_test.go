// Package default_test looks at what make deploy applies.
package default_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// deployed reads one object of config/default.
func deployed(t *testing.T, kind, name string, into any) {
	t.Helper()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), ".")
	if err != nil {
		t.Fatal(err)
	}
	for _, resource := range built.Resources() {
		if resource.GetKind() != kind || resource.GetName() != name {
			continue
		}
		content, err := resource.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.UnmarshalStrict(content, into); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatalf("there is no %s %s", kind, name)
}

func TestNetworkPoliciesAreForTheManagersPodsAndPorts(t *testing.T) {
	manager := &appsv1.Deployment{}
	deployed(t, "Deployment", "daytwo-manager", manager)
	open := map[int32]bool{}
	for _, name := range []string{"daytwo-manager", "daytwo-webhook"} {
		policy := &networkingv1.NetworkPolicy{}
		deployed(t, "NetworkPolicy", name, policy)
		if policy.Namespace != manager.Namespace || !maps.Equal(policy.Spec.PodSelector.MatchLabels, manager.Spec.Selector.MatchLabels) {
			t.Errorf("%s is not for the manager's pods, but for those with %v in %s", name, policy.Spec.PodSelector.MatchLabels, policy.Namespace)
		}
		for _, rule := range policy.Spec.Ingress {
			for _, port := range rule.Ports {
				open[portOf(t, manager, *port.Port)] = len(rule.From) == 0
			}
		}
	}
	if want := map[int32]bool{8080: false, 8081: true, 9443: false}; !maps.Equal(open, want) {
		t.Errorf("ports by whether anybody gets there: %v, want %v", open, want)
	}
}

func portOf(t *testing.T, manager *appsv1.Deployment, port intstr.IntOrString) int32 {
	t.Helper()
	for _, known := range manager.Spec.Template.Spec.Containers[0].Ports {
		if known.Name == port.StrVal || known.ContainerPort == port.IntVal {
			return known.ContainerPort
		}
	}
	t.Fatalf("the manager has no port %s", port.String())
	return 0
}

func TestTheManagerKnowsTheMemoryLimitOfItsContainer(t *testing.T) {
	manager := &appsv1.Deployment{}
	deployed(t, "Deployment", "daytwo-manager", manager)
	container := manager.Spec.Template.Spec.Containers[0]
	limit, told := container.Resources.Limits[corev1.ResourceMemory]
	at := slices.IndexFunc(container.Env, func(variable corev1.EnvVar) bool { return variable.Name == "DAYTWO_MEMORY_LIMIT" })
	if !told || limit.Value() < 1<<30 || at < 0 {
		t.Fatalf("the limit is %s, and the environment %v", limit.String(), container.Env)
	}
	if from := container.Env[at].ValueFrom.ResourceFieldRef; from.Resource != "limits.memory" || !from.Divisor.IsZero() {
		t.Errorf("the limit is taken from %+v, and not in bytes", from)
	}
}

// What an image is built from must be the same tomorrow, and a tag can be moved.
func TestTheImageIsBuiltFromAnExactImage(t *testing.T) {
	content, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	module, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^go (\S+)$`).FindSubmatch(module)
	from := regexp.MustCompile(`(?m)^FROM (\S+)`).FindAllSubmatch(content, -1)
	if len(version) != 2 || len(from) != 2 {
		t.Fatalf("go.mod says %q, and the Dockerfile is from %q", version, from)
	}
	if image := string(from[0][1]); !regexp.MustCompile(`^golang:` + regexp.QuoteMeta(string(version[1])) + `-\S+@sha256:[0-9a-f]{64}$`).MatchString(image) {
		t.Errorf("the manager is built with %s, and not with the image of go %s by its digest", image, version[1])
	}
	if image := string(from[1][1]); image != "scratch" {
		t.Errorf("the image is made from %s", image)
	}
}
