package drdrill

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
)

func TestWhatActsOutsideIsLeftOut(t *testing.T) {
	var archived []schema.GroupResource
	for _, name := range []string{
		"configmaps", "deployments.apps", "services", "cronjobs.batch", "ingresses.networking.k8s.io", "networkpolicies.networking.k8s.io",
		"httproutes.gateway.networking.k8s.io", "dnsendpoints.externaldns.k8s.io", "certificates.cert-manager.io", "orders.acme.cert-manager.io",
		"kustomizations.kustomize.toolkit.fluxcd.io", "applications.argoproj.io", "rollouts.argoproj.io", "buckets.s3.aws.crossplane.io",
		"machines.cluster.x-k8s.io", "machinesets.infrastructure.cluster.x-k8s.io", "notfluxcd.io", "ciliumnetworkpolicies.cilium.io",
	} {
		archived = append(archived, schema.ParseGroupResource(name))
	}
	want := "applications.argoproj.io buckets.s3.aws.crossplane.io certificates.cert-manager.io ciliumnetworkpolicies.cilium.io " +
		"dnsendpoints.externaldns.k8s.io httproutes.gateway.networking.k8s.io ingresses.networking.k8s.io " +
		"kustomizations.kustomize.toolkit.fluxcd.io machines.cluster.x-k8s.io machinesets.infrastructure.cluster.x-k8s.io " +
		"networkpolicies.networking.k8s.io orders.acme.cert-manager.io"
	if got := strings.Join(leftOut(archived, nil), " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	asked := []backupv1alpha1.DrillExposure{
		backupv1alpha1.ExposeIngresses, backupv1alpha1.ExposeNetworkPolicies, backupv1alpha1.ExposeDNS, backupv1alpha1.ExposeCertificates,
		backupv1alpha1.ExposeGitOps, backupv1alpha1.ExposeInfrastructure,
	}
	if got := leftOut(archived, asked); len(got) > 0 {
		t.Errorf("left out although asked for: %v", got)
	}
	if got := leftOut(archived, asked[:1]); slices.Contains(got, "ingresses.networking.k8s.io") || !slices.Contains(got, "certificates.cert-manager.io") {
		t.Errorf("with ingresses asked for, left out are %v", got)
	}
}

func TestServicesAndCronJobsAreContained(t *testing.T) {
	exposed := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Service", "spec": map[string]any{"type": "LoadBalancer", "externalIPs": []any{"192.0.2.1"}, "loadBalancerIP": "192.0.2.2"},
	}}
	kept := exposed.DeepCopy()
	contain(exposed, nil)
	if spec := exposed.Object["spec"].(map[string]any); len(spec) != 1 || spec["type"] != "ClusterIP" {
		t.Errorf("got %v", spec)
	}
	contain(kept, []backupv1alpha1.DrillExposure{backupv1alpha1.ExposeLoadBalancers})
	if spec := kept.Object["spec"].(map[string]any); len(spec) != 3 {
		t.Errorf("got %v, although it is asked for", spec)
	}
	cron := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "batch/v1", "kind": "CronJob", "spec": map[string]any{}}}
	contain(cron, []backupv1alpha1.DrillExposure{backupv1alpha1.ExposeCronJobs})
	if suspended, _, _ := unstructured.NestedBool(cron.Object, "spec", "suspend"); suspended {
		t.Error("a CronJob is suspended although it is asked for")
	}
	contain(cron, nil)
	if suspended, _, _ := unstructured.NestedBool(cron.Object, "spec", "suspend"); !suspended {
		t.Error("a CronJob would run")
	}
}
