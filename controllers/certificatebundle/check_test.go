package certificatebundle

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

func clusterIssuer(name string) bundleChange {
	return func(bundle *certificatesv1alpha1.CertificateBundle) {
		bundle.Spec.IssuerRef = &certificatesv1alpha1.IssuerReference{Kind: "ClusterIssuer", Name: name}
	}
}

// named gives the certificate of a bundle other names.
func named(change func(*certificatesv1alpha1.CertificateTemplate)) bundleChange {
	return func(bundle *certificatesv1alpha1.CertificateBundle) { change(bundle.Spec.Certificate) }
}

func secretTargets(targets ...certificatesv1alpha1.SecretTarget) bundleChange {
	return func(bundle *certificatesv1alpha1.CertificateBundle) { bundle.Spec.Targets = targets }
}

func trustTargets(targets ...certificatesv1alpha1.TrustTarget) bundleChange {
	return func(bundle *certificatesv1alpha1.CertificateBundle) {
		bundle.Spec.Trust = &certificatesv1alpha1.Trust{DefaultCAs: true, Targets: targets}
	}
}

func selecting(selector metav1.LabelSelector) certificatesv1alpha1.Placement {
	return certificatesv1alpha1.Placement{NamespaceSelector: &selector}
}

func shared(bundle *certificatesv1alpha1.CertificateBundle) { bundle.Spec.SharedKey = true }

func trustOnly(bundle *certificatesv1alpha1.CertificateBundle) {
	bundle.Spec.Mode = certificatesv1alpha1.ModeTrustOnly
	bundle.Spec.Certificate, bundle.Spec.IssuerRef, bundle.Spec.Targets = nil, nil, nil
	trusting(source("ConfigMap", "roots"))(bundle)
}

func TestCheckNamesTheFieldAndTheWayOut(t *testing.T) {
	invalidSelector := metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: "Near"}}}
	for name, test := range map[string]struct {
		changes []bundleChange
		reason  string
		field   string
		// hint is a part of what to do.
		hint string
	}{
		"a ClusterIssuer that customers may not use": {
			changes: []bundleChange{clusterIssuer("internal")}, reason: certificatesv1alpha1.ReasonIssuerNotAllowed,
			field: "spec.issuerRef", hint: "name an Issuer of that namespace, or ask the provider",
		},
		"a name that customers could choose": {
			changes: []bundleChange{
				func(b *certificatesv1alpha1.CertificateBundle) {
					b.Spec.ClusterNamespaceSelector = &metav1.LabelSelector{}
				},
				named(func(c *certificatesv1alpha1.CertificateTemplate) {
					c.DNSNames = []string{"{{ .Cluster.Namespace }}.test", "{{ .Cluster.Name }}.test"}
				}),
			},
			field: "spec.certificate.dnsNames[1]", hint: "write {{ .Cluster.Namespace }} into it",
		},
		"a DNS name that is no template": {
			changes: []bundleChange{named(func(c *certificatesv1alpha1.CertificateTemplate) {
				c.DNSNames = []string{"a.example.com", "{{ .Cluster.Name"}
			})},
			field: "spec.certificate.dnsNames[1]", hint: "use {{ .Cluster.Name }}",
		},
		"an address that asks for what there is not": {
			changes: []bundleChange{named(func(c *certificatesv1alpha1.CertificateTemplate) { c.IPAddresses = []string{"{{ .Cluster.Address }}"} })},
			field:   "spec.certificate.ipAddresses[0]", hint: "use {{ .Cluster.Name }}",
		},
		"a URI with a loop": {
			changes: []bundleChange{named(func(c *certificatesv1alpha1.CertificateTemplate) {
				c.URIs = []string{"spiffe://{{ range .Cluster.Labels }}x{{ end }}"}
			})},
			field: "spec.certificate.uris[0]", hint: "use {{ .Cluster.Name }}",
		},
		"an e-mail address with a function": {
			changes: []bundleChange{named(func(c *certificatesv1alpha1.CertificateTemplate) {
				c.EmailAddresses = []string{"{{ printf .Cluster.Name }}@example.com"}
			})},
			field: "spec.certificate.emailAddresses[0]", hint: "use {{ .Cluster.Name }}",
		},
		"a common name that is no template": {
			changes: []bundleChange{named(func(c *certificatesv1alpha1.CertificateTemplate) { c.CommonName = "{{ nothing }}" })},
			field:   "spec.certificate.commonName", hint: "use {{ .Cluster.Name }}",
		},
		"a shared key with a name of each cluster": {
			changes: []bundleChange{shared}, field: "spec.certificate.dnsNames[0]", hint: "remove one of the two",
		},
		"a Secret whose name is no template": {
			changes: []bundleChange{secretTargets(certificatesv1alpha1.SecretTarget{SecretName: "{{ .Name }}", Placement: in("shop")})},
			field:   "spec.targets[0].secretName", hint: "use {{ .Cluster.Name }}",
		},
		"a Secret whose selector is none": {
			changes: []bundleChange{secretTargets(
				certificatesv1alpha1.SecretTarget{SecretName: "a", Placement: in("shop")},
				certificatesv1alpha1.SecretTarget{SecretName: "b", Placement: selecting(invalidSelector)},
			)},
			field: "spec.targets[1].namespaceSelector", hint: "no valid selector",
		},
		"a selector of many names": {
			changes: []bundleChange{secretTargets(certificatesv1alpha1.SecretTarget{SecretName: "a", Placement: selecting(metav1.LabelSelector{
				MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "name", Operator: "In", Values: strings.Split(strings.Repeat("shop,", 300), ",")}},
			})})},
			field: "spec.targets[0].namespaceSelector", hint: "more than 1024: label what it selects",
		},
		"anchors whose name is no template": {
			changes: []bundleChange{trustTargets(certificatesv1alpha1.TrustTarget{Kind: "ConfigMap", Name: "{{ . }}", Placement: in("shop")})},
			field:   "spec.trust.targets[0].name", hint: "use {{ .Cluster.Name }}",
		},
		"anchors whose selector is none": {
			changes: []bundleChange{trustTargets(certificatesv1alpha1.TrustTarget{Kind: "ConfigMap", Name: "a", Placement: selecting(invalidSelector)})},
			field:   "spec.trust.targets[0].namespaceSelector", hint: "no valid selector",
		},
		"two Secrets of one name": {
			changes: []bundleChange{secretTargets(
				certificatesv1alpha1.SecretTarget{SecretName: "web-tls", Placement: in("a", "shop")},
				certificatesv1alpha1.SecretTarget{SecretName: "web-tls", Placement: in("shop")},
			)},
			field: "spec.targets[1]", hint: "Secret shop/web-tls is that of spec.targets[0] already: choose another name",
		},
		"anchors in the Secret of the certificate": {
			changes: []bundleChange{trustTargets(certificatesv1alpha1.TrustTarget{Kind: "Secret", Name: "web-tls", Placement: in("shop")})},
			field:   "spec.trust.targets[0]", hint: "Secret shop/web-tls is that of spec.targets[0] already: choose another name",
		},
		"two ClusterTrustBundles of one name": {
			changes: []bundleChange{trustTargets(
				certificatesv1alpha1.TrustTarget{Kind: "ClusterTrustBundle", Name: "anchors"}, certificatesv1alpha1.TrustTarget{Kind: "ClusterTrustBundle", Name: "anchors"},
			)},
			field: "spec.trust.targets[1]", hint: "ClusterTrustBundle anchors is that of spec.trust.targets[0] already: choose another name",
		},
	} {
		t.Run(name, func(t *testing.T) {
			problem := Checker{ProviderNamespace: "daytwo-system"}.Check(newBundle(test.changes...))
			if problem == nil {
				t.Fatal("it is accepted")
			}
			reason := test.reason
			if reason == "" {
				reason = metav1alpha1.ReasonInvalidSpec
			}
			if problem.Reason != reason || problem.Field != test.field || !strings.Contains(problem.Message, test.hint) {
				t.Errorf("refused as %s: %s", problem.Reason, problem)
			}
			if stall := problem.stall(); stall.Reason != reason || stall.Message != test.field+": "+problem.Message || stall.Usable {
				t.Errorf("the stall is %+v", stall)
			}
		})
	}
}

func TestCheckAccepts(t *testing.T) {
	provider := func(bundle *certificatesv1alpha1.CertificateBundle) { bundle.Namespace = "daytwo-system" }
	for name, changes := range map[string][]bundleChange{
		"an Issuer of the namespace":                nil,
		"a ClusterIssuer that customers may use":    {clusterIssuer("public")},
		"any ClusterIssuer in the provider's":       {clusterIssuer("internal"), provider},
		"trust anchors alone":                       {trustOnly},
		"a shared key with the same name in all":    {shared, named(func(c *certificatesv1alpha1.CertificateTemplate) { c.DNSNames = []string{"shop.example.com"} })},
		"a shared key in a Secret named by cluster": {shared, named(func(c *certificatesv1alpha1.CertificateTemplate) { c.DNSNames = []string{"shop.example.com"} }), secretTargets(certificatesv1alpha1.SecretTarget{SecretName: "{{ .Cluster.Name }}-tls", Placement: in("shop")})},
		"one name in two namespaces": {secretTargets(
			certificatesv1alpha1.SecretTarget{SecretName: "web-tls", Placement: in("a")}, certificatesv1alpha1.SecretTarget{SecretName: "web-tls", Placement: in("b")},
		)},
		"a ConfigMap with the name of a Secret": {trustTargets(certificatesv1alpha1.TrustTarget{Kind: "ConfigMap", Name: "web-tls", Placement: in("shop")})},
		"every namespace":                       {secretTargets(certificatesv1alpha1.SecretTarget{SecretName: "a", Placement: selecting(metav1.LabelSelector{})})},
	} {
		t.Run(name, func(t *testing.T) {
			checker := Checker{ProviderNamespace: "daytwo-system", CustomerClusterIssuers: []string{"public"}}
			if problem := checker.Check(newBundle(changes...)); problem != nil {
				t.Errorf("it is refused: %s", problem)
			}
		})
	}
}
