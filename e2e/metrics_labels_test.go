package e2e

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

// objectLabels name objects in the management cluster, in metrics of ours only. Their series go with the object.
var objectLabels = []string{"namespace", "policy", "cluster", "cluster_namespace"}

// fixedLabels are all other labels, with what they may be.
var fixedLabels = map[string]string{
	"kind":       "SaaSAddon|BackupPolicy|CertificateBundle|AddonRelease|BackupEnrollment|CertificateDelivery|DRDrill",
	"manager":    "|kubectl|kubectl-edit|kubectl-patch|kubectl-label|kubectl-annotate|kubectl-set|kubectl-rollout|kubectl-client-side-apply|kubectl-replace|kubectl-create|helm|argocd-controller|kustomize-controller|other",
	"verb":       "get|watch|probe|post|put|patch|delete",
	"code":       "0|[1-5]xx|other|<error>|200|500",
	"method":     "GET|HEAD|POST|PUT|PATCH|DELETE|other",
	"host":       "",
	"controller": "[a-z-]+", "name": "[a-z-]+", "result": "success|error|requeue|requeue_after", "priority": "-?[0-9]+", "webhook": "/[a-z0-9-]+",
	"state":     "selected|updated|ready|failed|unreachable|unusable",
	"goversion": "go[0-9.]+.*", "version": "go[0-9.]+.*|v[0-9].*|[(]devel[)].*", "le": ".*", "quantile": ".*",
}

// A series lives as long as the manager does. So none of its labels is what a customer's cluster, or a request to one, says.
func TestLabelsOfMetricsAreOfFixedSets(t *testing.T) {
	t.Parallel()
	c := newCustomer(t, 0, 1)
	c.install("labels", fmt.Sprintf(oneConfigMap, "blue"))
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "settings"}}
	edit(t, c.workload(c.clusters.bare[0]), settings, func(m *corev1.ConfigMap) { m.Data["color"] = "red" })
	expect.Eventually(t, "drift is counted", func(context.Context) error {
		if sum(t, "daytwo_drift_detected_total", map[string]string{"namespace": c.namespace}) < 1 {
			return fmt.Errorf("it is not")
		}
		return nil
	})
	if requests := samples(t, "rest_client_requests_total"); len(requests) == 0 {
		t.Error("client-go counts no requests")
	}
	families, err := env.Manager.Metrics(t.Context())
	must(t, err)
	for _, name := range slices.Sorted(maps.Keys(families)) {
		for _, metric := range families[name].GetMetric() {
			for _, label := range metric.GetLabel() {
				if problem := problemOf(name, label.GetName(), label.GetValue()); problem != "" {
					t.Errorf("%s{%s=%q}: %s", name, label.GetName(), label.GetValue(), problem)
				}
			}
		}
	}
}

// problemOf says what is wrong with a label; empty for nothing.
func problemOf(metric, label, value string) string {
	if strings.HasPrefix(metric, "daytwo_") && slices.Contains(objectLabels, label) {
		return ""
	}
	pattern, known := fixedLabels[label]
	switch {
	case !known:
		return "nobody has said what this label may be"
	case !regexp.MustCompile("^(" + pattern + ")$").MatchString(value):
		return "want " + pattern
	}
	return ""
}
