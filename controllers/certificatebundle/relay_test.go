package certificatebundle

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
)

// relaying has a bundle answer requests.
func relaying(edit func(*certificatesv1alpha1.RequestPolicy)) bundleChange {
	return func(bundle *certificatesv1alpha1.CertificateBundle) {
		bundle.Spec.Mode = certificatesv1alpha1.ModeRelay
		bundle.Spec.Certificate, bundle.Spec.Targets = nil, nil
		bundle.Spec.RequestPolicy = &certificatesv1alpha1.RequestPolicy{DNSNames: []string{"*.{{ .Cluster.Name }}.example.com"}}
		if edit != nil {
			edit(bundle.Spec.RequestPolicy)
		}
	}
}

func ofSeveralCustomers(bundle *certificatesv1alpha1.CertificateBundle) {
	bundle.Spec.ClusterNamespaceSelector = &metav1.LabelSelector{}
}

func TestRequestPoliciesThatCannotBe(t *testing.T) {
	type policy = certificatesv1alpha1.RequestPolicy
	for name, row := range map[string]struct {
		edit  func(*policy)
		field string
		hint  string
		more  []bundleChange
	}{
		"a template that cannot be read":  {edit: func(p *policy) { p.DNSNames = []string{"a.test", "{{ .Cluster.UID }}"} }, field: "spec.requestPolicy.dnsNames[1]", hint: "use {{ .Cluster.Name }}"},
		"a wildcard in the middle":        {edit: func(p *policy) { p.DNSNames = []string{"a.*.test"} }, field: "spec.requestPolicy.dnsNames[0]", hint: "allows nothing"},
		"no network":                      {edit: func(p *policy) { p.IPAddresses = []string{"10.0.0.1/8"} }, field: "spec.requestPolicy.ipAddresses[0]", hint: "10.0.0.0/8"},
		"a host of a URI that may be any": {edit: func(p *policy) { p.URIs = []string{"spiffe://*/a"} }, field: "spec.requestPolicy.uris[0]", hint: "another place"},
		"no email address":                {edit: func(p *policy) { p.EmailAddresses = []string{"example.com"} }, field: "spec.requestPolicy.emailAddresses[0]", hint: "*@domain"},
		"a key that is too large": {edit: func(p *policy) {
			p.Keys = []certificatesv1alpha1.AllowedKey{{Algorithm: "RSA"}, {Algorithm: "ECDSA", MinSize: 3072}}
		}, field: "spec.requestPolicy.keys[1].minSize", hint: "521"},
		"a name that customers could choose": {field: "spec.requestPolicy.dnsNames[0]", hint: "write {{ .Cluster.Namespace }} into it", more: []bundleChange{ofSeveralCustomers}},
		"names of each other's": {edit: func(p *policy) { p.DNSNames = []string{"*.{{ .Cluster.Namespace }}.test", "*.apps.test"} }, field: "spec.requestPolicy.dnsNames[1]",
			hint: "each other's names", more: []bundleChange{ofSeveralCustomers}},
		"addresses of each other's": {edit: func(p *policy) { p.DNSNames, p.IPAddresses = nil, []string{"10.0.0.0/8"} }, field: "spec.requestPolicy.ipAddresses[0]",
			hint: "each other's names", more: []bundleChange{ofSeveralCustomers}},
		"an issuer of the provider": {field: "spec.issuerRef", hint: "--customer-cluster-issuers", more: []bundleChange{clusterIssuer("internal")}},
	} {
		t.Run(name, func(t *testing.T) {
			got := Checker{ProviderNamespace: "daytwo-system"}.Check(newBundle(append([]bundleChange{relaying(row.edit)}, row.more...)...))
			if got == nil || got.Field != row.field || !strings.Contains(got.Message, row.hint) {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestRequestPoliciesThatMayBe(t *testing.T) {
	for name, changes := range map[string][]bundleChange{
		"of one customer": {relaying(nil)},
		"of several": {relaying(func(p *certificatesv1alpha1.RequestPolicy) {
			p.DNSNames = []string{"*.{{ .Cluster.Namespace }}.test", "status.test"}
		}), ofSeveralCustomers},
		"with all there is": {relaying(func(p *certificatesv1alpha1.RequestPolicy) {
			p.CommonNames, p.IPAddresses, p.URIs = []string{"web {{ .Cluster.Name }}"}, []string{"10.0.0.0/8", "{{ .Cluster.Labels.address }}"}, []string{"spiffe://{{ .Cluster.Name }}/ns/*/sa/*"}
			p.EmailAddresses, p.Keys = []string{"*@{{ .Cluster.Name }}.test"}, []certificatesv1alpha1.AllowedKey{{Algorithm: "RSA", MinSize: 4096}, {Algorithm: "Ed25519"}}
		})},
	} {
		if got := (Checker{}).Check(newBundle(changes...)); got != nil {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestABundleThatAnswersRequestsSaysSoToItsDeliveries(t *testing.T) {
	bundle, delivery := newBundle(relaying(nil)), &certificatesv1alpha1.CertificateDelivery{}
	r := &Reconciler{}
	r.SyncSettings(delivery, bundle)
	if delivery.Spec.SignerName != "daytwo.dev/web" || !r.SettingsCurrent(delivery, bundle) {
		t.Errorf("the signer is %q", delivery.Spec.SignerName)
	}
	delivery.Spec.SignerName = ""
	if r.SettingsCurrent(delivery, bundle) {
		t.Error("a delivery without a signer is current")
	}
	content, stall, err := r.readContent(t.Context(), bundle, now)
	if err != nil || stall != nil || content.Relay == nil || content.Relay.IssuerRef.Name != "ca" || content.Certificate != nil {
		t.Errorf("%v, %v: %+v", err, stall, content)
	}
	if distributing := relayOf(newBundle()); distributing != nil {
		t.Errorf("a bundle that distributes answers requests by %+v", distributing)
	}
}
