package certificatebundle

import (
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/certificatebundle/issuing"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

func problem(cluster, reason, message string) issuing.Problem {
	found := issuing.Problem{State: issuing.State{Reason: reason, Message: message}}
	if cluster != "" {
		found.Cluster = rollout.ClusterKey{Namespace: namespace, Name: cluster}
	}
	return found
}

// What an acknowledgement changes alone has to wake the bundle: its rotation waits for that.
func TestABundleIsWokenByEachAcknowledgement(t *testing.T) {
	delivery := &certificatesv1alpha1.CertificateDelivery{}
	seen := map[any]bool{(&Reconciler{}).Part(delivery): true}
	told := &certificatesv1alpha1.AuthorityAcknowledgement{Generation: 1}
	delivery.Status.Authority = told
	for i, change := range []func(){
		func() {}, func() { told.Generation = 2 }, func() { told.AnchorHash = "both" }, func() { told.Issuer = 1 }, func() { told.ClusterUID = "a" }, func() { told.PolicyUID = "b" },
		func() { told.TrustSince = metav1.NewTime(now) }, func() { told.ReplacedAt = metav1.NewTime(now) }, func() { told.ReloadComplete = true },
	} {
		if change(); seen[(&Reconciler{}).Part(delivery)] {
			t.Errorf("change %d is not seen", i)
		}
		seen[(&Reconciler{}).Part(delivery)] = true
	}
	same := delivery.DeepCopy()
	same.Status.Authority.TrustSince = metav1.NewTime(now.Local())
	if !seen[(&Reconciler{}).Part(same)] {
		t.Error("the same time in another zone is taken for a change")
	}
}

func TestIssuedTellsTheFirstProblemAndNamesOthers(t *testing.T) {
	failed := problem("a", certificatesv1alpha1.ReasonIssuanceFailed, "cert-manager: no such issuer")
	many := []issuing.Problem{failed}
	for _, name := range []string{"b", "c", "d", "e", "f", "g"} {
		many = append(many, problem(name, certificatesv1alpha1.ReasonIssuancePending, "waiting"))
	}
	for name, test := range map[string]struct {
		problems        []issuing.Problem
		status          metav1.ConditionStatus
		reason, message string
	}{
		"none":              {status: metav1.ConditionTrue, reason: "Issued", message: "the certificates of all clusters are issued and checked"},
		"one":               {problems: many[:1], status: metav1.ConditionFalse, reason: "IssuanceFailed", message: "acme/a: cert-manager: no such issuer"},
		"one of all":        {problems: []issuing.Problem{problem("", "IssuancePending", "waiting")}, status: metav1.ConditionFalse, reason: "IssuancePending", message: "waiting"},
		"as many as fit":    {problems: many[:5], status: metav1.ConditionFalse, reason: "IssuanceFailed", message: "acme/a: cert-manager: no such issuer; not issued either for acme/b, acme/c, acme/d, acme/e"},
		"more than are fit": {problems: many, status: metav1.ConditionFalse, reason: "IssuanceFailed", message: "acme/a: cert-manager: no such issuer; not issued either for acme/b, acme/c, acme/d, acme/e and 2 more"},
	} {
		t.Run(name, func(t *testing.T) {
			bundle := newBundle()
			setIssued(bundle, true, test.problems, now)
			got := meta.FindStatusCondition(bundle.Status.Conditions, certificatesv1alpha1.ConditionIssued)
			if got == nil || got.Status != test.status || got.Reason != test.reason || got.Message != test.message || got.ObservedGeneration != 3 {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestABundleWithoutCertificatesIsNotIssued(t *testing.T) {
	bundle := newBundle(trustOnly)
	bundle.Status.Conditions = []metav1.Condition{{Type: certificatesv1alpha1.ConditionIssued, Status: metav1.ConditionTrue}}
	setIssued(bundle, false, nil, now)
	if len(bundle.Status.Conditions) > 0 {
		t.Errorf("it has %+v", bundle.Status.Conditions)
	}
}

// reporting is a delivery in a cluster, with its conditions by type.
func reporting(cluster string, states map[string]metav1.ConditionStatus) *certificatesv1alpha1.CertificateDelivery {
	delivery := &certificatesv1alpha1.CertificateDelivery{ObjectMeta: metav1.ObjectMeta{Generation: 2}}
	delivery.Spec.ClusterRef = metav1alpha1.ClusterReference{Namespace: namespace, Name: cluster}
	for kind, status := range states {
		meta.SetStatusCondition(&delivery.Status.Conditions, metav1.Condition{Type: kind, Status: status, Reason: "Because", ObservedGeneration: 2})
	}
	return delivery
}

func expiring(delivery *certificatesv1alpha1.CertificateDelivery, certificate, anchors time.Duration) *certificatesv1alpha1.CertificateDelivery {
	if certificate != 0 {
		delivery.Status.Certificate = &certificatesv1alpha1.DeliveredCertificate{NotAfter: metav1.NewTime(now.Add(certificate))}
	}
	if anchors != 0 {
		at := metav1.NewTime(now.Add(anchors))
		delivery.Status.Anchors = &certificatesv1alpha1.AnchorSummary{Expires: &at}
	}
	return delivery
}

func TestABundleExpiresWithTheFirstCertificateOrElseAnchor(t *testing.T) {
	for name, test := range map[string]struct {
		deliveries []*certificatesv1alpha1.CertificateDelivery
		want       time.Duration
	}{
		"nothing is there":          {deliveries: []*certificatesv1alpha1.CertificateDelivery{reporting("a", nil)}},
		"the first of certificates": {deliveries: []*certificatesv1alpha1.CertificateDelivery{expiring(reporting("a", nil), 3*hour, hour), reporting("b", nil), expiring(reporting("c", nil), 2*hour, 0)}, want: 2 * hour},
		"anchors alone":             {deliveries: []*certificatesv1alpha1.CertificateDelivery{expiring(reporting("a", nil), 0, 5*hour)}, want: 5 * hour},
		"anchors that never expire": {deliveries: []*certificatesv1alpha1.CertificateDelivery{{Status: certificatesv1alpha1.CertificateDeliveryStatus{Anchors: &certificatesv1alpha1.AnchorSummary{Count: 1}}}}},
	} {
		t.Run(name, func(t *testing.T) {
			bundle := newBundle()
			before := metav1.NewTime(now)
			bundle.Status.Expires = &before
			sum(bundle, test.deliveries...)
			switch got := bundle.Status.Expires; {
			case test.want == 0:
				if got != nil {
					t.Errorf("it expires at %s", got)
				}
			case got == nil || !got.Time.Equal(now.Add(test.want)):
				t.Errorf("it expires at %v, not after %s", got, test.want)
			}
		})
	}
}

func sum(bundle *certificatesv1alpha1.CertificateBundle, deliveries ...*certificatesv1alpha1.CertificateDelivery) {
	r := &Reconciler{}
	var parts []any
	for _, delivery := range deliveries {
		parts = append(parts, r.Part(delivery))
	}
	r.Sum(bundle, slices.Values(parts), now)
}

func TestConditionsOfDeliveriesAreSummedUp(t *testing.T) {
	good := map[string]metav1.ConditionStatus{"Distributed": metav1.ConditionTrue, "TrustDistributed": metav1.ConditionTrue, "ExpiringSoon": metav1.ConditionFalse}
	bad := map[string]metav1.ConditionStatus{"Distributed": metav1.ConditionFalse, "TrustDistributed": metav1.ConditionFalse, "ExpiringSoon": metav1.ConditionTrue}
	trust := map[string]metav1.ConditionStatus{"TrustDistributed": metav1.ConditionTrue, "ExpiringSoon": metav1.ConditionFalse}
	outdated := reporting("b", good)
	outdated.Generation = 3
	for name, test := range map[string]struct {
		deliveries []*certificatesv1alpha1.CertificateDelivery
		want       map[string]metav1.ConditionStatus
	}{
		"good in all":           {deliveries: []*certificatesv1alpha1.CertificateDelivery{reporting("a", good), reporting("b", good)}, want: good},
		"bad in one":            {deliveries: []*certificatesv1alpha1.CertificateDelivery{reporting("a", good), reporting("b", bad)}, want: bad},
		"what no delivery has":  {deliveries: []*certificatesv1alpha1.CertificateDelivery{reporting("a", trust), reporting("b", trust)}, want: trust},
		"what nobody tells yet": {deliveries: []*certificatesv1alpha1.CertificateDelivery{reporting("a", nil)}},
		"what an older generation had": {
			deliveries: []*certificatesv1alpha1.CertificateDelivery{reporting("a", good), outdated},
			want:       map[string]metav1.ConditionStatus{"Distributed": "Unknown", "TrustDistributed": "Unknown", "ExpiringSoon": "Unknown"},
		},
		"in no cluster": {},
	} {
		t.Run(name, func(t *testing.T) {
			bundle := newBundle()
			for kind := range good {
				meta.SetStatusCondition(&bundle.Status.Conditions, metav1.Condition{Type: kind, Status: "Unknown", Reason: "Before"})
			}
			sum(bundle, test.deliveries...)
			got := map[string]metav1.ConditionStatus{}
			for _, condition := range bundle.Status.Conditions {
				got[condition.Type] = condition.Status
			}
			if len(got) != len(test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
			for kind, status := range test.want {
				if got[kind] != status {
					t.Errorf("%s is %s, not %s", kind, got[kind], status)
				}
			}
		})
	}
}

func TestReadyClustersAreCounted(t *testing.T) {
	bundle := newBundle()
	bundle.Status.Clusters.Selected.Count, bundle.Status.Clusters.Ready.Count = 50, 48
	sum(bundle)
	if bundle.Status.ReadyClusters != "48/50" {
		t.Errorf("it tells %q", bundle.Status.ReadyClusters)
	}
}

// The room compares parts to find out whether there is news.
func TestTheSameDeliveryHasTheSamePart(t *testing.T) {
	r := &Reconciler{}
	delivery := expiring(reporting("a", map[string]metav1.ConditionStatus{"Distributed": metav1.ConditionTrue}), hour, 0)
	if r.Part(delivery) != r.Part(delivery.DeepCopy()) {
		t.Error("the part of a copy is another")
	}
	renewed := expiring(delivery.DeepCopy(), 2*hour, 0)
	if r.Part(delivery) == r.Part(renewed) {
		t.Error("the part after a renewal is the same")
	}
}
