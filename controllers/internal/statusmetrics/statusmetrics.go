// Package statusmetrics tells as metrics what the statuses of policies and TenantClusters say, and which build of the manager
// tells it. They are read from the manager's cache when somebody asks for them, so nothing has to be forgotten.
package statusmetrics

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/internal/version"
)

// maxCollecting is how long a scrape waits for a cache that is not filled yet. Prometheus gives a scrape 10 s by default.
const maxCollecting = 2 * time.Second

// Metrics implements prometheus.Collector.
type Metrics struct {
	ready, clusters, credentials, build *prometheus.Desc

	cached  client.Reader
	elected <-chan struct{}
	log     logr.Logger
	// policies are empty lists of the kinds of policies, by kind.
	policies map[string]client.ObjectList
}

// New makes the metrics and registers them. All but the build are told from when elected is closed: a manager that does not
// lead would tell the same a second time. The policies are empty lists of their kinds, by kind.
func New(registry prometheus.Registerer, cached client.Reader, elected <-chan struct{}, policies map[string]client.ObjectList, log logr.Logger) *Metrics {
	metrics := &Metrics{
		ready: prometheus.NewDesc("daytwo_policy_ready",
			"1 while a policy is Ready, 0 while it is not; absent while that cannot be known.", []string{"kind", "namespace", "policy"}, nil),
		clusters: prometheus.NewDesc("daytwo_policy_clusters",
			"Clusters of a policy, by state: selected, and of these updated, ready, failed, unreachable and unusable.",
			[]string{"kind", "namespace", "policy", "state"}, nil),
		credentials: prometheus.NewDesc("daytwo_credentials_expire_timestamp_seconds",
			"When the client certificate or token of a cluster expires that is in use, in seconds since 1970; absent where it does not say.",
			[]string{"namespace", "cluster"}, nil),
		build: prometheus.NewDesc("daytwo_build_info", "1, with the version of the manager and of Go.", []string{"version", "goversion"}, nil),

		cached: cached, elected: elected, log: log, policies: policies,
	}
	registry.MustRegister(metrics)
	return metrics
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(descriptions chan<- *prometheus.Desc) {
	for _, one := range []*prometheus.Desc{m.ready, m.clusters, m.credentials, m.build} {
		descriptions <- one
	}
}

// Collect implements prometheus.Collector. An error would take all metrics of the manager away, so it is logged instead.
func (m *Metrics) Collect(samples chan<- prometheus.Metric) {
	build := version.Get()
	samples <- prometheus.MustNewConstMetric(m.build, prometheus.GaugeValue, 1, build.Version, build.Go)
	WhileElected(m.elected, func(ctx context.Context) { m.collect(ctx, samples) })
}

// WhileElected collects metrics from the manager's cache once elected is closed: a manager that does not lead would tell the same a
// second time. A cache that is not filled yet ends the context.
func WhileElected(elected <-chan struct{}, collect func(ctx context.Context)) {
	select {
	case <-elected:
	default:
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), maxCollecting)
	defer cancel()
	collect(ctx)
}

func (m *Metrics) collect(ctx context.Context, samples chan<- prometheus.Metric) {
	for kind, empty := range m.policies {
		if err := m.collectPolicies(ctx, kind, empty.DeepCopyObject().(client.ObjectList), samples); err != nil {
			m.log.Error(err, "no metric tells of policies", "kind", kind)
		}
	}
	if err := m.collectClusters(ctx, samples); err != nil {
		m.log.Error(err, "no metric tells when credentials expire")
	}
}

func (m *Metrics) collectPolicies(ctx context.Context, kind string, list client.ObjectList, samples chan<- prometheus.Metric) error {
	if err := m.cached.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	return meta.EachListItem(list, func(item runtime.Object) error {
		policy := item.(metav1alpha1.Policy)
		status := policy.GetPolicyStatus()
		if value, known := Readiness(status.Conditions); known {
			samples <- prometheus.MustNewConstMetric(m.ready, prometheus.GaugeValue, value, kind, policy.GetNamespace(), policy.GetName())
		}
		for state, count := range map[string]metav1alpha1.ClusterCount{
			"selected": status.Clusters.Selected, "updated": status.Clusters.Updated, "ready": status.Clusters.Ready,
			"failed": status.Clusters.Failed, "unreachable": status.Clusters.Unreachable, "unusable": status.Clusters.Unusable,
		} {
			samples <- prometheus.MustNewConstMetric(m.clusters, prometheus.GaugeValue, float64(count.Count), kind, policy.GetNamespace(), policy.GetName(), state)
		}
		return nil
	})
}

func (m *Metrics) collectClusters(ctx context.Context, samples chan<- prometheus.Metric) error {
	list := &tenancyv1alpha1.TenantClusterList{}
	if err := m.cached.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	for i := range list.Items {
		one := &list.Items[i]
		if at := one.Status.KubeconfigExpiresAt; at != nil {
			samples <- prometheus.MustNewConstMetric(m.credentials, prometheus.GaugeValue, float64(at.Unix()), one.Namespace, one.Name)
		}
	}
	return nil
}

// Readiness is the value of a gauge for the condition Ready: 1 or 0. It is not known while the condition is absent or Unknown.
func Readiness(conditions []metav1.Condition) (value float64, known bool) {
	ready := meta.FindStatusCondition(conditions, metav1alpha1.ConditionReady)
	switch {
	case ready == nil || ready.Status == metav1.ConditionUnknown:
		return 0, false
	case ready.Status == metav1.ConditionTrue:
		return 1, true
	}
	return 0, true
}
