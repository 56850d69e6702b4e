package issuing

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/daytwo-dev/daytwo/apis"
	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

// observing is a reconciler over some objects, which accepts every bundle.
func observing(there ...client.Object) *Reconciler {
	byKey := func(object client.Object) []string {
		key, ok := keyFromLabels(object)
		if !ok {
			return nil
		}
		return []string{key.String()}
	}
	c := fake.NewClientBuilder().WithScheme(apis.NewScheme()).WithIndex(&corev1.Secret{}, indexKey, byKey).WithObjects(there...).Build()
	return &Reconciler{Client: c, APIReader: c, Check: func(*certificatesv1alpha1.CertificateBundle) error { return nil }}
}

func tenant(name string, labels map[string]string) *tenancyv1alpha1.TenantCluster {
	return &tenancyv1alpha1.TenantCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: name, Labels: labels}}
}

func delivery(cluster, named, has string) *certificatesv1alpha1.CertificateDelivery {
	key := rollout.ClusterKey{Namespace: "acme", Name: cluster}
	made := &certificatesv1alpha1.CertificateDelivery{ObjectMeta: metav1.ObjectMeta{
		Namespace: "acme", Name: rollout.TargetName("web", key), Labels: map[string]string{metav1alpha1.LabelPolicy: "web"},
	}}
	made.Spec.Content = named
	if has != "" {
		made.Status.Certificate = &certificatesv1alpha1.DeliveredCertificate{Issuance: has}
	}
	return made
}

func TestWhatIsWantedOfACertificate(t *testing.T) {
	selected := map[string]string{"tier": "gold"}
	bundle := func(changes ...func(*certificatesv1alpha1.CertificateBundle)) *certificatesv1alpha1.CertificateBundle {
		made := newBundle()
		made.Spec.ClusterSelector = &metav1.LabelSelector{MatchLabels: selected}
		for _, change := range changes {
			change(made)
		}
		return made
	}
	shared := func(b *certificatesv1alpha1.CertificateBundle) {
		b.Spec.SharedKey, b.Spec.Certificate.DNSNames = true, []string{"shop.example.com"}
	}
	trustOnly := func(b *certificatesv1alpha1.CertificateBundle) { b.Spec.Certificate, b.Spec.IssuerRef = nil, nil }
	leaving := tenant("prod", selected)
	leaving.Finalizers, leaving.DeletionTimestamp = []string{"test/keeps"}, &metav1.Time{Time: now}
	sharedKey := Key{Bundle: webKey.Bundle}

	for name, test := range map[string]struct {
		there []client.Object
		key   Key
		// unasked: no policy has asked for it.
		unasked                bool
		refuse                 error
		needed, selected, gone bool
		dnsName, refused       string
		inUse                  []string
	}{
		"of a cluster that is selected":     {there: []client.Object{bundle(), tenant("prod", selected)}, needed: true, selected: true, dnsName: "prod.example.com"},
		"that nobody asked for yet":         {there: []client.Object{bundle(), tenant("prod", selected)}, unasked: true, selected: true, dnsName: "prod.example.com"},
		"of a cluster that is not selected": {there: []client.Object{bundle(), tenant("prod", nil)}, dnsName: "prod.example.com"},
		"that is still delivered": {
			there: []client.Object{bundle(), tenant("prod", nil), delivery("prod", "b", "a")}, needed: true, dnsName: "prod.example.com", inUse: []string{"a", "b"},
		},
		"of a cluster that is being deleted":            {there: []client.Object{bundle(), leaving}, dnsName: "prod.example.com"},
		"of a cluster that is gone":                     {there: []client.Object{bundle()}, gone: true},
		"of a cluster that is gone, and its target not": {there: []client.Object{bundle(), delivery("prod", "a", "a")}, gone: true, needed: true, inUse: []string{"a"}},
		"of a bundle that is gone":                      {there: []client.Object{tenant("prod", selected)}},
		"of a bundle without certificates":              {there: []client.Object{bundle(trustOnly), tenant("prod", selected), delivery("prod", "", "a")}, inUse: []string{"", "a"}},
		"of a bundle that is refused": {
			there: []client.Object{bundle(), tenant("prod", selected)}, refuse: errors.New("no such issuer"), needed: true, selected: true, refused: "no such issuer",
		},
		"that cannot be asked for in the cluster": {
			there: []client.Object{bundle(func(b *certificatesv1alpha1.CertificateBundle) {
				b.Spec.Certificate.DNSNames = []string{"{{ .Cluster.Labels.zone }}"}
			}), tenant("prod", selected)},
			needed: true, selected: true, refused: "has no label zone",
		},
		"of all clusters": {
			there: []client.Object{bundle(shared), delivery("prod", "a", ""), delivery("staging", "b", "")}, key: sharedKey, needed: true, selected: true,
			dnsName: "shop.example.com", inUse: []string{"a", "b"},
		},
		"of one cluster, where all share one":     {there: []client.Object{bundle(shared), tenant("prod", selected)}},
		"of all clusters, where each has its own": {there: []client.Object{bundle(), tenant("prod", selected)}, key: sharedKey},
	} {
		t.Run(name, func(t *testing.T) {
			r := observing(test.there...)
			if test.refuse != nil {
				r.Check = func(*certificatesv1alpha1.CertificateBundle) error { return test.refuse }
			}
			o := observation{key: webKey, now: now, inUse: map[string]bool{}}
			if test.key != (Key{}) {
				o.key = test.key
			}
			if !test.unasked {
				r.states.want(o.key, State{})
			}
			if err := r.observeBundle(t.Context(), &o); err != nil {
				t.Fatal(err)
			}
			if o.needed != test.needed || o.selected != test.selected || o.gone != test.gone {
				t.Errorf("needed %v, selected %v, gone %v", o.needed, o.selected, o.gone)
			}
			if test.refused == "" && o.refused != nil || test.refused != "" && (o.refused == nil || !strings.Contains(o.refused.Error(), test.refused)) {
				t.Errorf("it is refused for %v", o.refused)
			}
			if names := strings.Join(o.request.DNSNames, " "); test.refused == "" && names != test.dnsName {
				t.Errorf("it asks for %q", names)
			}
			if inUse := slices.Sorted(maps.Keys(o.inUse)); !slices.Equal(inUse, test.inUse) {
				t.Errorf("in use are %q", inUse)
			}
		})
	}
}

func TestWhatWasIssuedIsReadOnceAndOnlyIfItIsWanted(t *testing.T) {
	material, issued := issuedFor(t, "prod.example.com")
	source := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: webKey.name(), UID: "s", Labels: webKey.labels()},
		Data:       map[string][]byte{"tls.crt": material.Certificate, "tls.key": material.PrivateKey, "ca.crt": material.CA},
	}
	kept := newIssuance(newBundle(), webKey, material, issued, strings.Repeat("ab", 16), "before")
	const state = "s/999" // The fake API server's first resourceVersion.
	for name, test := range map[string]struct {
		change func(*observation)
		read   bool
	}{
		"new":                       {read: true},
		"taken already":             {change: func(o *observation) { o.issuances = []Issuance{{Source: state, Request: o.requestHash()}} }},
		"taken for another request": {change: func(o *observation) { o.issuances = []Issuance{{Source: state, Request: "other"}} }, read: true},
		"refused already":           {change: func(o *observation) { o.before.refusedSource = state + o.requestHash() }},
		"an older one was refused":  {change: func(o *observation) { o.before.refusedSource = "s/998" + o.requestHash() }, read: true},
		"not needed":                {change: func(o *observation) { o.needed = false }},
		"not to be asked for":       {change: func(o *observation) { o.refused = errors.New("no") }},
		"of a cluster that is gone": {change: func(o *observation) { o.gone = true }},
	} {
		t.Run(name, func(t *testing.T) {
			o := newObservation(t, newBundle())
			if test.change != nil {
				test.change(&o)
			}
			if err := observing(source.DeepCopy(), kept.DeepCopy()).observeSecret(t.Context(), &o); err != nil {
				t.Fatal(err)
			}
			if o.source != state {
				t.Errorf("it is %q", o.source)
			}
			if (o.material != nil) != test.read || test.read && string(o.material.PrivateKey) != string(material.PrivateKey) {
				t.Errorf("it is read: %v", o.material != nil)
			}
		})
	}
}
