package target

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/statusmetrics"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// Metrics of targets. All kinds share them, so they are registered once.
type Metrics struct {
	ready    *prometheus.GaugeVec
	detected *prometheus.CounterVec
	rollback prometheus.Histogram
	exposure prometheus.Histogram

	mu sync.Mutex
	// targets of which the series tell, by their policy: with its last target, a policy's counters go.
	targets map[policyKey]sets.Set[series]
}

// policyKey names a policy whatever its kind, as the labels of a counter do.
type policyKey struct{ namespace, policy string }

func (s series) policyKey() policyKey { return policyKey{s.namespace, s.policy} }

// NewMetrics makes the metrics and registers them.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	metrics := &Metrics{
		targets: map[policyKey]sets.Set[series]{},
		ready: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "daytwo_target_ready",
			Help: "1 while a target is Ready, 0 while it is not; absent while that cannot be known.",
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

// series is what tells one target's metrics from another's.
type series struct {
	kind, namespace, policy string
	cluster                 types.NamespacedName
}

func seriesOf(kind string, target metav1alpha1.Target) series {
	return series{kind: kind, namespace: target.GetNamespace(), policy: policyOf(target), cluster: ClusterKey(target)}
}

func policyOf(target metav1alpha1.Target) string { return target.GetLabels()[metav1alpha1.LabelPolicy] }

func (s series) labels() []string {
	return []string{s.kind, s.namespace, s.policy, s.cluster.Namespace, s.cluster.Name}
}

// setReady tells whether a target is ready, and nothing while that cannot be known.
func (m *Metrics) setReady(of series, conditions []metav1.Condition) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.targets[of.policyKey()] == nil {
		m.targets[of.policyKey()] = sets.New[series]()
	}
	m.targets[of.policyKey()].Insert(of)
	value, known := statusmetrics.Readiness(conditions)
	if !known {
		m.ready.DeleteLabelValues(of.labels()...)
		return
	}
	m.ready.WithLabelValues(of.labels()...).Set(value)
}

// forget a target that is gone.
func (m *Metrics) forget(of series) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ready.DeleteLabelValues(of.labels()...)
	left := m.targets[of.policyKey()]
	if left.Delete(of); left.Len() == 0 {
		delete(m.targets, of.policyKey())
		m.detected.DeletePartialMatch(prometheus.Labels{"namespace": of.namespace, "policy": of.policy})
	}
}

// corrected counts one correction of an object of a target.
func (m *Metrics) corrected(target metav1alpha1.Target, w apply.Written) {
	m.noticed(target, w.Actor)
	m.rollback.Observe(w.Took.Seconds())
	if changed := w.Actor.At; changed != nil {
		m.exposure.Observe(max(0, w.At.Truncate(1e9).Sub(changed.Time).Seconds()))
	}
}

// noticed counts one change by others. The manager label is what the cluster says, so a person could
// fill the metrics with names of their own: only well-known ones are kept apart.
func (m *Metrics) noticed(target metav1alpha1.Target, by apply.Actor) {
	m.detected.WithLabelValues(target.GetNamespace(), policyOf(target), wellKnown(by.Manager)).Inc()
}

func wellKnown(manager string) string {
	switch manager {
	case "", "kubectl", "kubectl-edit", "kubectl-patch", "kubectl-label", "kubectl-annotate", "kubectl-set", "kubectl-rollout",
		"kubectl-client-side-apply", "kubectl-replace", "kubectl-create", "helm", "argocd-controller", "kustomize-controller":
		return manager
	}
	return "other"
}
