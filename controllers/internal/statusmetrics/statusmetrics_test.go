package statusmetrics

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/daytwo-dev/daytwo/apis"
	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
)

func addon(name string, ready metav1.ConditionStatus, updated int32) *addonsv1alpha1.SaaSAddon {
	made := &addonsv1alpha1.SaaSAddon{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: name}}
	made.Status.Conditions = []metav1.Condition{{Type: metav1alpha1.ConditionReady, Status: ready}}
	made.Status.Clusters.Updated.Count = updated
	return made
}

func TestWhatIsNotKnownIsAbsent(t *testing.T) {
	expires := metav1.NewTime(time.Unix(1900000000, 0))
	prod := &tenancyv1alpha1.TenantCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "prod"}, Status: tenancyv1alpha1.TenantClusterStatus{KubeconfigExpiresAt: &expires}}
	silent := &tenancyv1alpha1.TenantCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "silent"}}
	cached := fake.NewClientBuilder().WithScheme(apis.NewScheme()).WithObjects(prod, silent,
		addon("cache", metav1.ConditionTrue, 3), addon("broken", metav1.ConditionFalse, 1), addon("lost", metav1.ConditionUnknown, 2)).Build()
	elected := make(chan struct{})
	registry := prometheus.NewRegistry()
	New(registry, cached, elected, map[string]client.ObjectList{"SaaSAddon": &addonsv1alpha1.SaaSAddonList{}}, logr.Discard())
	if told := gathered(t, registry); len(told) != 1 {
		t.Errorf("a manager that does not lead tells %v, not its build alone", told)
	}
	close(elected)
	told := gathered(t, registry)
	for series, want := range map[string]float64{
		"daytwo_credentials_expire_timestamp_seconds{acme,prod}": 1900000000,
		"daytwo_policy_ready{SaaSAddon,acme,broken}":             0,
		"daytwo_policy_ready{SaaSAddon,acme,cache}":              1,
		"daytwo_policy_clusters{SaaSAddon,acme,lost,updated}":    2,
	} {
		if got, is := told[series]; !is || got != want {
			t.Errorf("%s is %v (%t), not %v", series, got, is, want)
		}
	}
	for _, absent := range []string{"daytwo_policy_ready{SaaSAddon,acme,lost}", "daytwo_credentials_expire_timestamp_seconds{acme,silent}"} {
		if got, is := told[absent]; is {
			t.Errorf("%s is %v", absent, got)
		}
	}
}

// gathered are the values of all series, by name and values of labels in the order of their names.
func gathered(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			var values []string
			for _, label := range metric.GetLabel() {
				values = append(values, label.GetValue())
			}
			if family.GetName() == "daytwo_credentials_expire_timestamp_seconds" {
				slices.Reverse(values) // Labels come in the order of their names: the cluster is before the namespace.
			}
			told[family.GetName()+"{"+strings.Join(values, ",")+"}"] = metric.GetGauge().GetValue()
		}
	}
	return told
}
