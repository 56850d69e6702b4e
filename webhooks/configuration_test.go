package webhooks

import (
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/yaml"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
)

func readConfiguration(t *testing.T) *admissionv1.ValidatingWebhookConfiguration {
	t.Helper()
	content, err := os.ReadFile(configuration)
	must(t, err)
	read := &admissionv1.ValidatingWebhookConfiguration{}
	must(t, yaml.UnmarshalStrict(content, read))
	return read
}

func TestTheConfigurationLeadsToWhatIsServed(t *testing.T) {
	paths := map[string]string{
		"tenantclusters": pathOfTenantClusters, "saasaddons": "/validate-addons-daytwo-dev-v1alpha1-saasaddon",
		"backuppolicies":     "/validate-backup-daytwo-dev-v1alpha1-backuppolicy",
		"certificatebundles": "/validate-certificates-daytwo-dev-v1alpha1-certificatebundle",
	}
	hooks := readConfiguration(t).Webhooks
	if len(hooks) != len(paths) {
		t.Fatalf("there are %d webhooks", len(hooks))
	}
	for _, hook := range hooks {
		if len(hook.Rules) != 1 || len(hook.Rules[0].Resources) != 1 {
			t.Fatalf("%s has other rules than one for one resource", hook.Name)
		}
		resource, path := hook.Rules[0].Resources[0], *hook.ClientConfig.Service.Path
		if path != paths[resource] || hook.Name != resource+"."+hook.Rules[0].APIGroups[0] {
			t.Errorf("%s asks about %s at %s", hook.Name, resource, path)
		}
		if _, pattern := served.GetWebhookServer().WebhookMux().Handler(&http.Request{URL: &url.URL{Path: path}}); pattern != path {
			t.Errorf("nobody serves %s", path)
		}
	}
}

func TestWithoutAnAnswerEverythingPasses(t *testing.T) {
	for _, hook := range readConfiguration(t).Webhooks {
		if *hook.FailurePolicy != admissionv1.Ignore || *hook.SideEffects != admissionv1.SideEffectClassNone {
			t.Errorf("%s: failurePolicy %s, sideEffects %s", hook.Name, *hook.FailurePolicy, *hook.SideEffects)
		}
		if limit := time.Duration(*hook.TimeoutSeconds) * time.Second; limit > 10*time.Second || patience >= limit {
			t.Errorf("%s: it waits for %s, and we for %s", hook.Name, limit, patience)
		}
	}
}

const pathOfTenantClusters = "/validate-tenancy-daytwo-dev-v1alpha1-tenantcluster"

// asked is how often a webhook was asked.
func asked(t *testing.T, path string) (count float64) {
	t.Helper()
	families, err := metrics.Registry.Gather()
	must(t, err)
	for _, family := range families {
		if family.GetName() != "controller_runtime_webhook_requests_total" {
			continue
		}
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if strings.HasSuffix(label.GetValue(), path) {
					count += metric.GetCounter().GetValue()
				}
			}
		}
	}
	return count
}

func TestWritesThatDoNotConcernTheWebhooksDoNotReachThem(t *testing.T) {
	cluster := imported(newNamespace(t), "prod")
	good := badWindow()
	good.Schedule = "0 2 * * *"
	cluster.Spec.MaintenanceWindows = []metav1alpha1.RecurringWindow{good}
	before := asked(t, pathOfTenantClusters)
	must(t, admin.Create(t.Context(), cluster))
	if now := asked(t, pathOfTenantClusters); now != before+1 {
		t.Fatalf("creating it asks %v times", now-before)
	}
	for what, write := range map[string]func(*tenancyv1alpha1.TenantCluster) error{
		"a label": func(c *tenancyv1alpha1.TenantCluster) error {
			base := c.DeepCopy()
			c.Labels = map[string]string{"tier": "gold"}
			return admin.Patch(t.Context(), c, client.MergeFrom(base))
		},
		"another field": func(c *tenancyv1alpha1.TenantCluster) error {
			base := c.DeepCopy()
			c.Spec.Suspend = true
			return admin.Patch(t.Context(), c, client.MergeFrom(base))
		},
		"the status": func(c *tenancyv1alpha1.TenantCluster) error {
			base := c.DeepCopy()
			c.Status.Version = "v1.36.3"
			return admin.Status().Patch(t.Context(), c, client.MergeFrom(base))
		},
		"a cluster without windows": func(*tenancyv1alpha1.TenantCluster) error {
			return admin.Create(t.Context(), imported(cluster.Namespace, "another"))
		},
	} {
		must(t, write(cluster))
		if now := asked(t, pathOfTenantClusters); now != before+1 {
			t.Errorf("writing %s asks", what)
			before = now - 1
		}
	}
}
