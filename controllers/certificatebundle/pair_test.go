package certificatebundle

import (
	"reflect"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/certificatebundle/issuing"
	"github.com/daytwo-dev/daytwo/controllers/internal/certificatecontent"
	"github.com/daytwo-dev/daytwo/controllers/internal/clustertemplate"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/clusterstate"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

const hour = time.Hour

// lasting has certificates that are valid for 30 hours, and are renewed 10 hours before their end.
func lasting(bundle *certificatesv1alpha1.CertificateBundle) {
	bundle.Spec.Certificate.Duration = &metav1.Duration{Duration: 30 * hour}
	bundle.Spec.Certificate.RenewBefore = &metav1.Duration{Duration: 10 * hour}
}

// one is an issuance that ends so long after now.
func one(name, request string, left time.Duration) issuing.Issuance {
	return issuing.Issuance{Name: name, Request: request, NotBefore: now.Add(left - 30*hour), NotAfter: now.Add(left)}
}

// delivered is a target at an older revision, with an issuance.
func delivered(content string) *certificatesv1alpha1.CertificateDelivery {
	delivery := &certificatesv1alpha1.CertificateDelivery{}
	delivery.Spec.Revision, delivery.Spec.Content = "web-older", content
	return delivery
}

func TestWhatAClusterGets(t *testing.T) {
	pending := []rollout.Gate{{
		Reason: "IssuancePending", Message: "waiting for a certificate (see condition Issued)", Blocks: rollout.Create | rollout.Update, KeepsSlot: true,
	}}
	for name, test := range map[string]struct {
		list     []issuing.Issuance
		current  int
		delivery *certificatesv1alpha1.CertificateDelivery
		want     policy.Pair
	}{
		"without a certificate it waits": {current: -1, want: policy.Pair{Gates: pending}},
		"without a certificate as it is asked for, it keeps the one that it has": {
			list: []issuing.Issuance{one("a", "before", 20*hour)}, current: -1, delivery: delivered("a"), want: policy.Pair{Content: "a", Gates: pending},
		},
		"its first certificate": {list: []issuing.Issuance{one("a", "r", 29*hour)}, want: policy.Pair{Content: "a"}},
		"a target without a certificate gets one": {
			list: []issuing.Issuance{one("a", "r", 29*hour)}, delivery: delivered(""), want: policy.Pair{Content: "a"},
		},
		"it has what it should": {list: []issuing.Issuance{one("a", "r", hour)}, delivery: delivered("a"), want: policy.Pair{Content: "a"}},
		"a renewal rolls out, and becomes urgent half of the time after it": {
			list: []issuing.Issuance{one("b", "r", 29*hour), one("a", "r", 9*hour)}, delivery: delivered("a"),
			want: policy.Pair{Content: "b", Again: now.Add(4 * hour)},
		},
		"an urgent renewal passes a closed window and brings nothing else": {
			list: []issuing.Issuance{one("b", "r", 29*hour), one("a", "r", 5*hour)}, delivery: delivered("a"),
			want: policy.Pair{Content: "b", Revision: "web-older", Overrides: []string{"WindowClosed"}},
		},
		"a renewal after the end is urgent too": {
			list: []issuing.Issuance{one("b", "r", 29*hour), one("a", "r", -hour)}, delivery: delivered("a"),
			want: policy.Pair{Content: "b", Revision: "web-older", Overrides: []string{"WindowClosed"}},
		},
		"an urgent certificate for other names brings the revision that asks for them": {
			list: []issuing.Issuance{one("b", "r", 29*hour), one("a", "before", 5*hour)}, delivery: delivered("a"),
			want: policy.Pair{Content: "b", Overrides: []string{"WindowClosed"}},
		},
		"going back to what ends earlier is not urgent": {
			list: []issuing.Issuance{one("b", "r", 4*hour), one("a", "r", 2*hour)}, current: 1, delivery: delivered("b"), want: policy.Pair{Content: "a"},
		},
		"of a certificate whose issuance is gone nobody knows the end": {
			list: []issuing.Issuance{one("b", "r", 29*hour)}, delivery: delivered("a"), want: policy.Pair{Content: "b"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var current *issuing.Issuance
			if test.current >= 0 {
				current = &test.list[test.current]
			}
			if got := pairOf(newBundle(lasting), test.delivery, test.list, current, now); !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

// At the time that a pair names, it is urgent.
func TestARenewalIsUrgentWhenItSaidSo(t *testing.T) {
	list := []issuing.Issuance{one("b", "r", 29*hour), one("a", "r", 9*hour)}
	before := pairOf(newBundle(lasting), delivered("a"), list, &list[0], now)
	after := pairOf(newBundle(lasting), delivered("a"), list, &list[0], before.Again)
	if len(before.Overrides) > 0 || len(after.Overrides) != 1 || !after.Again.IsZero() {
		t.Errorf("before %+v, then %+v", before, after)
	}
}

func TestWithoutRenewBeforeAThirdOfTheDurationCounts(t *testing.T) {
	for name, test := range map[string]struct {
		duration, left time.Duration
	}{
		"a duration":   {duration: 60 * hour, left: 10 * hour},
		"90 days, too": {left: 15 * 24 * hour},
	} {
		t.Run(name, func(t *testing.T) {
			bundle := newBundle()
			if test.duration > 0 {
				bundle.Spec.Certificate.Duration = &metav1.Duration{Duration: test.duration}
			}
			if at := urgentAt(one("a", "r", test.left), bundle.Spec.Certificate); !at.Equal(now) {
				t.Errorf("it is urgent at %s, not %s", at, now)
			}
		})
	}
}

func TestWhichIssuanceAClusterShouldHave(t *testing.T) {
	bundle := newBundle(lasting)
	cluster := &tenancyv1alpha1.TenantCluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "prod", Labels: map[string]string{"tier": "gold"}}}
	described := clustertemplate.Cluster{ClusterReference: metav1alpha1.ClusterReference{Namespace: namespace, Name: "prod"}, ClusterParameters: clusterstate.ParametersOf(cluster)}
	request, err := certificatecontent.RequestFor(bundle.Spec.Certificate, described)
	if err != nil {
		t.Fatal(err)
	}
	asked := issuing.RequestHash(request, *bundle.Spec.IssuerRef)
	list := []issuing.Issuance{one("other", "another", 29*hour), one("newer", asked, 28*hour), one("older", asked, 3*hour), one("expired", asked, -hour)}
	for name, test := range map[string]struct {
		changes []bundleChange
		want    string
	}{
		"the newest that is as it is asked for": {want: "newer"},
		"the one to go back to": {
			changes: []bundleChange{func(b *certificatesv1alpha1.CertificateBundle) {
				b.Spec.RollbackTo = []string{"web-of-another-cluster", "older"}
			}}, want: "older",
		},
		"none to go back to that has expired": {
			changes: []bundleChange{func(b *certificatesv1alpha1.CertificateBundle) { b.Spec.RollbackTo = []string{"expired"} }}, want: "newer",
		},
		"none for other names": {
			changes: []bundleChange{named(func(c *certificatesv1alpha1.CertificateTemplate) { c.DNSNames = []string{"new.example.com"} })},
		},
		"none of another issuer": {
			changes: []bundleChange{func(b *certificatesv1alpha1.CertificateBundle) { b.Spec.IssuerRef.Name = "another" }},
		},
		"none where a label is missing": {
			changes: []bundleChange{named(func(c *certificatesv1alpha1.CertificateTemplate) {
				c.DNSNames = []string{"{{ .Cluster.Labels.zone }}.example.com"}
			})},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, bundle := "", newBundle(append([]bundleChange{lasting}, test.changes...)...)
			if found := currentOf(list, bundle, cluster, *bundle.Spec.IssuerRef, now); found != nil {
				got = found.Name
			}
			if got != test.want {
				t.Errorf("got %q, not %q", got, test.want)
			}
		})
	}
}

func TestWithASharedKeyAllClustersShouldHaveTheSame(t *testing.T) {
	bundle := newBundle(shared, named(func(c *certificatesv1alpha1.CertificateTemplate) { c.DNSNames = []string{"shop.example.com"} }))
	request, err := certificatecontent.RequestFor(bundle.Spec.Certificate, clustertemplate.Cluster{})
	if err != nil {
		t.Fatal(err)
	}
	list := []issuing.Issuance{one("all", issuing.RequestHash(request, *bundle.Spec.IssuerRef), hour)}
	for _, name := range []string{"prod", "staging"} {
		cluster := &tenancyv1alpha1.TenantCluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		if found := currentOf(list, bundle, cluster, *bundle.Spec.IssuerRef, now); found == nil || found.Name != "all" {
			t.Errorf("%s should have %+v", name, found)
		}
	}
}
