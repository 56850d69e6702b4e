package teardown

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestWhatDependsOnOthersGoesBeforeThem(t *testing.T) {
	rows := map[string]Stage{
		"Widget.example.com":                                            CustomResources,
		"Certificate.cert-manager.io":                                   CustomResources,
		"Gateway.gateway.networking.k8s.io":                             CustomResources,
		"NodeMetrics.metrics.k8s.io":                                    CustomResources,
		"ValidatingWebhookConfiguration.admissionregistration.k8s.io":   Interceptors,
		"MutatingWebhookConfiguration.admissionregistration.k8s.io":     Interceptors,
		"ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io": Interceptors,
		"APIService.apiregistration.k8s.io":                             Interceptors,
		"Deployment.apps":                                               Workloads,
		"StatefulSet.apps":                                              Workloads,
		"DaemonSet.apps":                                                Workloads,
		"Job.batch":                                                     Workloads,
		"Pod":                                                           Workloads,
		"Service":                                                       Workloads,
		"Ingress.networking.k8s.io":                                     Workloads,
		"HorizontalPodAutoscaler.autoscaling":                           Workloads,
		"ClusterRole.rbac.authorization.k8s.io":                         Configuration,
		"RoleBinding.rbac.authorization.k8s.io":                         Configuration,
		"ServiceAccount":                                                Configuration,
		"Secret":                                                        Configuration,
		"ConfigMap":                                                     Configuration,
		"PersistentVolumeClaim":                                         Configuration,
		"NetworkPolicy.networking.k8s.io":                               Configuration,
		"Lease.coordination.k8s.io":                                     Configuration,
		"CustomResourceDefinition.apiextensions.k8s.io":                 Definitions,
		"Namespace":                                                     Namespaces,
		// The name of a kind that comes with Kubernetes says nothing in another group.
		"Namespace.example.com":  CustomResources,
		"Deployment.example.com": CustomResources,
	}
	for kind, want := range rows {
		if got := StageOf(schema.ParseGroupKind(kind)); got != want {
			t.Errorf("%s goes in stage %d, want %d", kind, got, want)
		}
	}
}

// An upgrade of the SDK may add kinds, or sort them anew.
func TestHelmStillRemovesWorkloadsBeforeRights(t *testing.T) {
	for _, kind := range []string{"Service", "Deployment", "Pod", "DaemonSet"} {
		if !isWorkload(kind) {
			t.Errorf("%s is none any more: Helm's order is %v", kind, releaseutil.UninstallOrder)
		}
	}
}

func TestGroupLosesNothingAndKeepsTheOrderWithinAStage(t *testing.T) {
	type item struct{ stage, number int }
	for range 200 {
		var items []item
		for i := range rand.IntN(30) {
			items = append(items, item{rand.IntN(int(Namespaces) + 1), i})
		}
		grouped := Group(items, func(one item) Stage { return Stage(one.stage) })
		for _, stage := range grouped {
			if len(stage) == 0 {
				t.Fatalf("an empty stage in %v", grouped)
			}
		}
		want := slices.SortedStableFunc(slices.Values(items), func(a, b item) int { return a.stage - b.stage })
		if got := slices.Concat(grouped...); !reflect.DeepEqual(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}
