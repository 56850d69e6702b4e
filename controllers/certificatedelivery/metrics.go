package certificatedelivery

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/statusmetrics"
)

// Metrics of CertificateDeliveries, beside those of all targets. They are read from the manager's cache when somebody asks for
// them, so there are as many series as deliveries that have something, and none of one that is gone.
type Metrics struct {
	expires *prometheus.Desc
	cached  client.Reader
	elected <-chan struct{}
	log     logr.Logger
}

// NewMetrics makes the metrics and registers them. They are told from when elected is closed: a manager that does not lead
// would tell the same a second time.
func NewMetrics(registry prometheus.Registerer, cached client.Reader, elected <-chan struct{}, log logr.Logger) *Metrics {
	metrics := &Metrics{
		expires: prometheus.NewDesc("daytwo_certificate_expires_timestamp_seconds",
			"When the certificate in a cluster expires, or the first trust anchor of a bundle without certificates, in seconds since 1970.",
			[]string{"namespace", "policy", "cluster_namespace", "cluster"}, nil),
		cached: cached, elected: elected, log: log,
	}
	registry.MustRegister(metrics)
	return metrics
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(descriptions chan<- *prometheus.Desc) { descriptions <- m.expires }

// Collect implements prometheus.Collector. An error would take all metrics of the manager away, so it is logged instead.
func (m *Metrics) Collect(samples chan<- prometheus.Metric) {
	statusmetrics.WhileElected(m.elected, func(ctx context.Context) { m.collect(ctx, samples) })
}

func (m *Metrics) collect(ctx context.Context, samples chan<- prometheus.Metric) {
	deliveries := &certificatesv1alpha1.CertificateDeliveryList{}
	if err := m.cached.List(ctx, deliveries, client.UnsafeDisableDeepCopy); err != nil {
		m.log.Error(err, "no metric tells when certificates expire")
		return
	}
	for of, at := range expiries(deliveries.Items) {
		samples <- prometheus.MustNewConstMetric(m.expires, prometheus.GaugeValue, float64(at.Unix()),
			of.namespace, of.policy, of.cluster.Namespace, of.cluster.Name)
	}
}

// series is what tells the metric of one delivery from another's.
type series struct {
	namespace, policy string
	cluster           types.NamespacedName
}

// expiries are the series, each once: two of the same would take all metrics of the manager away.
func expiries(deliveries []certificatesv1alpha1.CertificateDelivery) map[series]time.Time {
	found := map[series]time.Time{}
	for i := range deliveries {
		one := &deliveries[i]
		at := expiresAt(&one.Status)
		if at.IsZero() {
			continue
		}
		of := series{
			namespace: one.Namespace, policy: one.Labels[metav1alpha1.LabelPolicy],
			cluster: types.NamespacedName{Namespace: one.Spec.ClusterRef.Namespace, Name: one.Spec.ClusterRef.Name},
		}
		if before, is := found[of]; !is || at.Before(before) {
			found[of] = at
		}
	}
	return found
}

// expiresAt is when the certificate does, or the first anchor of a bundle without certificates; zero for nothing.
func expiresAt(status *certificatesv1alpha1.CertificateDeliveryStatus) time.Time {
	switch delivered, anchors := status.Certificate, status.Anchors; {
	case delivered != nil:
		return delivered.NotAfter.Time
	case anchors != nil && anchors.Expires != nil:
		return anchors.Expires.Time
	}
	return time.Time{}
}
