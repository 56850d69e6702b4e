package addonrelease

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// Metrics of releases.
type Metrics struct {
	ready    *prometheus.GaugeVec
	detected *prometheus.CounterVec
	rollback prometheus.Histogram
	exposure prometheus.Histogram
}

// NewMetrics makes the metrics and registers them.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	metrics := &Metrics{
		ready: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "daytwo_target_ready",
			Help: "1 while a target is Ready, 0 while it is not, -1 while that cannot be known.",
		}, []string{"kind", "namespace", "policy", "cluster_namespace", "cluster"}),
		detected: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "daytwo_drift_detected_total",
			Help: "Changes by others, taken back or only reported, by the policy and the field manager that made them.",
		}, []string{"namespace", "policy", "manager"}),
		rollback: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "daytwo_drift_rollback_seconds",
			Help:    "From the event that showed a change to the answer that it was taken back.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 16),
		}),
		exposure: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "daytwo_drift_exposure_seconds",
			Help:    "How long a change stood, by the two times in managedFields, which are whole seconds.",
			Buckets: []float64{0, 1, 2, 5, 10, 30, 60, 300, 1800, 3600, 86400},
		}),
	}
	registry.MustRegister(metrics.ready, metrics.detected, metrics.rollback, metrics.exposure)
	return metrics
}

func (m *Metrics) setReady(t series, value float64) {
	m.ready.WithLabelValues(ownerKind, t.namespace, t.policy, t.cluster.Namespace, t.cluster.Name).Set(value)
}

func (m *Metrics) forget(t series) {
	m.ready.DeleteLabelValues(ownerKind, t.namespace, t.policy, t.cluster.Namespace, t.cluster.Name)
}

// series is what tells one target's metrics from another's.
type series struct {
	namespace, policy string
	cluster           types.NamespacedName
}

func seriesOf(release *addonsv1alpha1.AddonRelease) series {
	return series{namespace: release.Namespace, policy: release.Labels[metav1alpha1.LabelPolicy], cluster: clusterKey(release)}
}

// corrected counts one correction.
func (m *Metrics) corrected(namespace, policy string, w apply.Written) {
	m.noticed(namespace, policy, w.Actor)
	m.rollback.Observe(w.Took.Seconds())
	if changed := w.Actor.At; changed != nil {
		m.exposure.Observe(max(0, w.At.Truncate(1e9).Sub(changed.Time).Seconds()))
	}
}

// noticed counts one change by others. The manager label is what the cluster says, so a person could
// fill the metrics with names of their own: only well-known ones are kept apart.
func (m *Metrics) noticed(namespace, policy string, by apply.Actor) {
	m.detected.WithLabelValues(namespace, policy, wellKnown(by.Manager)).Inc()
}

func wellKnown(manager string) string {
	switch manager {
	case "", "kubectl", "kubectl-edit", "kubectl-patch", "kubectl-label", "kubectl-annotate", "kubectl-set", "kubectl-rollout",
		"kubectl-client-side-apply", "kubectl-replace", "kubectl-create", "helm", "argocd-controller", "kustomize-controller":
		return manager
	}
	return "other"
}
