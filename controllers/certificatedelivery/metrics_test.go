package certificatedelivery

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/daytwo-dev/daytwo/apis"
	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

const metricHeader = `# HELP daytwo_certificate_expires_timestamp_seconds When the certificate in a cluster expires, or the first trust anchor of a bundle without certificates, in seconds since 1970.
# TYPE daytwo_certificate_expires_timestamp_seconds gauge
`

func elected() <-chan struct{} {
	closed := make(chan struct{})
	close(closed)
	return closed
}

func measured(name, clusterNamespace string, status certificatesv1alpha1.CertificateDeliveryStatus) *certificatesv1alpha1.CertificateDelivery {
	return &certificatesv1alpha1.CertificateDelivery{
		ObjectMeta: metav1.ObjectMeta{Namespace: "provider", Name: name, Labels: map[string]string{metav1alpha1.LabelPolicy: "web"}},
		Spec: certificatesv1alpha1.CertificateDeliverySpec{TargetSpec: metav1alpha1.TargetSpec{
			ClusterRef: metav1alpha1.ClusterReference{Namespace: clusterNamespace, Name: "prod"},
		}},
		Status: status,
	}
}

func certificateUntil(seconds int64) *certificatesv1alpha1.DeliveredCertificate {
	return &certificatesv1alpha1.DeliveredCertificate{NotAfter: metav1.Unix(seconds, 0)}
}

func anchorsUntil(seconds int64) *certificatesv1alpha1.AnchorSummary {
	at := metav1.Unix(seconds, 0)
	return &certificatesv1alpha1.AnchorSummary{Count: 2, Expires: &at}
}

func cacheWith(deliveries ...client.Object) client.WithWatch {
	return fake.NewClientBuilder().WithScheme(apis.NewScheme()).WithObjects(deliveries...).Build()
}

func TestMetricTellsWhenWhatIsInEachClusterExpires(t *testing.T) {
	cached := cacheWith(
		measured("acme", "customer-acme", certificatesv1alpha1.CertificateDeliveryStatus{Certificate: certificateUntil(2_000_000_000), Anchors: anchorsUntil(1_900_000_000)}),
		measured("globex", "customer-globex", certificatesv1alpha1.CertificateDeliveryStatus{Anchors: anchorsUntil(2_100_000_000)}),
		measured("initech", "customer-initech", certificatesv1alpha1.CertificateDeliveryStatus{}),
		measured("umbrella", "customer-umbrella", certificatesv1alpha1.CertificateDeliveryStatus{Anchors: &certificatesv1alpha1.AnchorSummary{}}),
	)
	registry := prometheus.NewRegistry()
	NewMetrics(registry, cached, elected(), logr.Discard())
	want := metricHeader +
		`daytwo_certificate_expires_timestamp_seconds{cluster="prod",cluster_namespace="customer-acme",namespace="provider",policy="web"} 2e+09
daytwo_certificate_expires_timestamp_seconds{cluster="prod",cluster_namespace="customer-globex",namespace="provider",policy="web"} 2.1e+09
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}

func TestMetricOfADeliveryGoesWithIt(t *testing.T) {
	delivery := measured("acme", "customer-acme", certificatesv1alpha1.CertificateDeliveryStatus{Certificate: certificateUntil(2_000_000_000)})
	cached, registry := cacheWith(delivery), prometheus.NewRegistry()
	NewMetrics(registry, cached, elected(), logr.Discard())
	for _, want := range []int{1, 0} {
		if count, err := testutil.GatherAndCount(registry); err != nil || count != want {
			t.Fatalf("there are %d series, %v; want %d", count, err, want)
		}
		if err := client.IgnoreNotFound(cached.Delete(t.Context(), delivery)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTwoDeliveriesOfOneSeriesLeaveTheOneThatExpiresFirst(t *testing.T) {
	cached := cacheWith(
		measured("one", "customer-acme", certificatesv1alpha1.CertificateDeliveryStatus{Certificate: certificateUntil(2_000_000_000)}),
		measured("other", "customer-acme", certificatesv1alpha1.CertificateDeliveryStatus{Certificate: certificateUntil(1_900_000_000)}),
	)
	registry := prometheus.NewRegistry()
	NewMetrics(registry, cached, elected(), logr.Discard())
	want := metricHeader +
		`daytwo_certificate_expires_timestamp_seconds{cluster="prod",cluster_namespace="customer-acme",namespace="provider",policy="web"} 1.9e+09
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}

func TestOnlyTheManagerThatLeadsTellsTheMetric(t *testing.T) {
	cached := cacheWith(measured("acme", "customer-acme", certificatesv1alpha1.CertificateDeliveryStatus{Certificate: certificateUntil(2_000_000_000)}))
	registry, leads := prometheus.NewRegistry(), make(chan struct{})
	NewMetrics(registry, cached, leads, logr.Discard())
	if count, err := testutil.GatherAndCount(registry); err != nil || count != 0 {
		t.Errorf("before the election there are %d series, %v", count, err)
	}
	close(leads)
	if count, err := testutil.GatherAndCount(registry); err != nil || count != 1 {
		t.Errorf("after the election there are %d series, %v", count, err)
	}
}

func TestACacheThatFailsTakesNoOtherMetricAway(t *testing.T) {
	failing := interceptor.NewClient(cacheWith(), interceptor.Funcs{
		List: func(ctx context.Context, _ client.WithWatch, _ client.ObjectList, _ ...client.ListOption) error {
			if _, bounded := ctx.Deadline(); !bounded {
				t.Error("a scrape would wait for the cache for ever")
			}
			return errors.New("the cache is not filled")
		},
	})
	registry := prometheus.NewRegistry()
	NewMetrics(registry, failing, elected(), logr.Discard())
	other := prometheus.NewGauge(prometheus.GaugeOpts{Name: "other"})
	registry.MustRegister(other)
	if count, err := testutil.GatherAndCount(registry); err != nil || count != 1 {
		t.Errorf("%d metrics are told, %v; want the other one", count, err)
	}
}
