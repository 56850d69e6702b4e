package e2e

import (
	"context"
	"fmt"
	"slices"
	"testing"

	dto "github.com/prometheus/client_model/go"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

func TestMetricsAreServed(t *testing.T) {
	t.Parallel()
	c := newCustomer(t, 0, 1)
	addon, cluster := c.install("metrics", fmt.Sprintf(oneConfigMap, "blue")), c.clusters.bare[0]
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "settings"}}
	edit(t, c.workload(cluster), settings, func(m *corev1.ConfigMap) { m.Data["color"] = "red" })

	at := map[string]string{"namespace": c.namespace, "cluster": cluster}
	of := map[string]string{"namespace": c.namespace, "policy": addon.Name}
	atLeastOne := []struct {
		name   string
		labels map[string]string
	}{
		{"daytwo_cluster_connected", at},
		{"daytwo_cluster_last_seen_timestamp_seconds", at},
		{"daytwo_target_ready", map[string]string{"namespace": c.namespace, "cluster": cluster, "policy": addon.Name, "kind": "AddonRelease"}},
		{"daytwo_drift_detected_total", map[string]string{"namespace": c.namespace, "policy": addon.Name, "manager": "kubectl-edit"}},
		{"daytwo_drift_rollback_seconds", nil},
		{"daytwo_drift_exposure_seconds", nil},
		{"daytwo_remote_requests_total", map[string]string{"verb": "patch", "code": "2xx"}},
		{"controller_runtime_reconcile_total", map[string]string{"controller": "addonrelease"}},
	}
	for _, metric := range atLeastOne {
		expect.Eventually(t, "there is "+metric.name, func(context.Context) error {
			if got := sum(t, metric.name, metric.labels); got < 1 {
				return fmt.Errorf("with labels %v it is %v", metric.labels, got)
			}
			return nil
		})
	}

	c.uninstall(addon)
	expect.Eventually(t, "nothing is told of what is gone", func(context.Context) error {
		for _, metric := range []string{"daytwo_target_ready", "daytwo_drift_detected_total"} {
			if left := matching(t, metric, of); len(left) > 0 {
				return fmt.Errorf("%s has %v", metric, left)
			}
		}
		return nil
	})
}

// sample of a metric; of a histogram, value is the count.
type sample struct {
	labels map[string]string
	value  float64
}

// samples of a metric, as the manager serves it now.
func samples(t testing.TB, name string) []sample {
	t.Helper()
	families, err := env.Manager.Metrics(context.Background())
	must(t, err)
	var all []sample
	for _, metric := range families[name].GetMetric() {
		one := sample{labels: map[string]string{}, value: value(metric)}
		for _, label := range metric.GetLabel() {
			one.labels[label.GetName()] = label.GetValue()
		}
		all = append(all, one)
	}
	return all
}

func value(metric *dto.Metric) float64 {
	switch {
	case metric.Gauge != nil:
		return metric.Gauge.GetValue()
	case metric.Counter != nil:
		return metric.Counter.GetValue()
	case metric.Histogram != nil:
		return float64(metric.Histogram.GetSampleCount())
	case metric.Summary != nil:
		return float64(metric.Summary.GetSampleCount())
	}
	return metric.Untyped.GetValue()
}

// matching samples have these labels.
func matching(t testing.TB, name string, labels map[string]string) []sample {
	t.Helper()
	return slices.DeleteFunc(samples(t, name), func(one sample) bool {
		for label, want := range labels {
			if one.labels[label] != want {
				return true
			}
		}
		return false
	})
}

// sum of a metric's samples with these labels.
func sum(t testing.TB, name string, labels map[string]string) float64 {
	t.Helper()
	total := 0.0
	for _, one := range matching(t, name, labels) {
		total += one.value
	}
	return total
}

func objectsOf(t testing.TB, list client.ObjectList) []client.Object {
	t.Helper()
	items, err := meta.ExtractList(list)
	must(t, err)
	var objects []client.Object
	for _, item := range items {
		objects = append(objects, item.(client.Object))
	}
	return objects
}
