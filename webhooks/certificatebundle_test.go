package webhooks

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// bundle is one that nobody refuses.
func bundle(namespace string) *certificatesv1alpha1.CertificateBundle {
	place := certificatesv1alpha1.Placement{Namespaces: []string{"ingress"}}
	return &certificatesv1alpha1.CertificateBundle{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "ingress-"},
		Spec: certificatesv1alpha1.CertificateBundleSpec{
			PolicySpec:  metav1alpha1.PolicySpec{ClusterNames: []string{"prod"}},
			Mode:        certificatesv1alpha1.ModeDistribute,
			IssuerRef:   &certificatesv1alpha1.IssuerReference{Kind: "Issuer", Name: "authority"},
			Certificate: &certificatesv1alpha1.CertificateTemplate{DNSNames: []string{"*.{{ .Cluster.Name }}.test"}},
			Targets:     []certificatesv1alpha1.SecretTarget{{Placement: place, SecretName: "ingress"}},
		},
	}
}

// own has a bundle issue from an authority of its own.
func own(s *certificatesv1alpha1.CertificateBundleSpec) {
	s.IssuerRef, s.CA = nil, &certificatesv1alpha1.ManagedAuthority{}
	s.Trust = &certificatesv1alpha1.Trust{Targets: []certificatesv1alpha1.TrustTarget{{Kind: "ConfigMap", Name: "a", Placement: s.Targets[0].Placement}}}
}

// with makes two changes.
func with(first, second func(*certificatesv1alpha1.CertificateBundleSpec)) func(*certificatesv1alpha1.CertificateBundleSpec) {
	return func(s *certificatesv1alpha1.CertificateBundleSpec) {
		first(s)
		second(s)
	}
}

func TestBundlesThatCannotBeCarriedOutAreRefused(t *testing.T) {
	namespace := newNamespace(t)
	for name, test := range map[string]struct {
		edit func(*certificatesv1alpha1.CertificateBundleSpec)
		// words of the refusal; none if it is taken.
		words []string
	}{
		"nothing": {func(*certificatesv1alpha1.CertificateBundleSpec) {}, nil},
		"a ClusterIssuer of the provider": {func(s *certificatesv1alpha1.CertificateBundleSpec) { s.IssuerRef.Kind = "ClusterIssuer" },
			[]string{"spec.issuerRef", "--customer-cluster-issuers"}},
		"a template that cannot be read": {func(s *certificatesv1alpha1.CertificateBundleSpec) {
			s.Certificate.DNSNames = []string{"{{ .Cluster.UID }}"}
		},
			[]string{"spec.certificate.dnsNames[0]", "{{ .Cluster.Name }}"}},
		"one certificate with the name of a cluster": {func(s *certificatesv1alpha1.CertificateBundleSpec) { s.SharedKey = true },
			[]string{"spec.certificate.dnsNames[0]", "sharedKey"}},
		"two targets with one Secret": {func(s *certificatesv1alpha1.CertificateBundleSpec) { s.Targets = append(s.Targets, s.Targets[0]) },
			[]string{"spec.targets[1]", "Secret ingress/ingress"}},
		"requests without a policy": {func(s *certificatesv1alpha1.CertificateBundleSpec) {
			s.Mode, s.Certificate, s.Targets = certificatesv1alpha1.ModeRelay, nil, nil
		}, []string{"mode Relay needs requestPolicy"}},
		"requests, and a key of ours": {func(s *certificatesv1alpha1.CertificateBundleSpec) {
			s.Mode, s.RequestPolicy = certificatesv1alpha1.ModeRelay, &certificatesv1alpha1.RequestPolicy{DNSNames: []string{"a.test"}}
		}, []string{"mode Relay makes no key"}},
		"a policy without names": {func(s *certificatesv1alpha1.CertificateBundleSpec) {
			s.Mode, s.Certificate, s.Targets = certificatesv1alpha1.ModeRelay, nil, nil
			s.RequestPolicy = &certificatesv1alpha1.RequestPolicy{MaxPending: 1}
		}, []string{"a requestPolicy allows some name"}},
		"a pattern that allows nothing": {func(s *certificatesv1alpha1.CertificateBundleSpec) {
			s.Mode, s.Certificate, s.Targets = certificatesv1alpha1.ModeRelay, nil, nil
			s.RequestPolicy = &certificatesv1alpha1.RequestPolicy{DNSNames: []string{"a.*.test"}}
		}, []string{"spec.requestPolicy.dnsNames[0]"}},
		"a policy of requests": {func(s *certificatesv1alpha1.CertificateBundleSpec) {
			s.Mode, s.Certificate, s.Targets = certificatesv1alpha1.ModeRelay, nil, nil
			s.RequestPolicy = &certificatesv1alpha1.RequestPolicy{DNSNames: []string{"*.{{ .Cluster.Name }}.test"}}
		}, nil},
		"a policy in another mode": {func(s *certificatesv1alpha1.CertificateBundleSpec) {
			s.RequestPolicy = &certificatesv1alpha1.RequestPolicy{DNSNames: []string{"a.test"}}
		}, []string{"no other mode has it"}},
		"no targets": {func(s *certificatesv1alpha1.CertificateBundleSpec) { s.Targets = nil }, []string{"mode Distribute needs"}},
		"trust without any": {func(s *certificatesv1alpha1.CertificateBundleSpec) {
			s.Trust = &certificatesv1alpha1.Trust{Targets: []certificatesv1alpha1.TrustTarget{{Kind: "ConfigMap", Name: "a", Placement: s.Targets[0].Placement}}}
		}, []string{"trust needs sources"}},
		"an authority of its own":       {own, nil},
		"one that signs beside another": {with(own, func(s *certificatesv1alpha1.CertificateBundleSpec) { s.IssuerRef = bundle(namespace).Spec.IssuerRef }), []string{"one of issuerRef and ca"}},
		"one that nobody would trust":   {with(own, func(s *certificatesv1alpha1.CertificateBundleSpec) { s.Trust = nil }), []string{"nobody would trust what ca issues"}},
		"one with one certificate for all": {with(own, func(s *certificatesv1alpha1.CertificateBundleSpec) {
			s.SharedKey, s.Certificate.DNSNames = true, []string{"shop.test"}
		}), []string{"with ca each cluster has a certificate of its own"}},
		"a rotation of nothing": {func(s *certificatesv1alpha1.CertificateBundleSpec) {
			s.Rotation = &certificatesv1alpha1.RotationSpec{CA: "now"}
		}, []string{"rotation replaces the authority of ca"}},
		"certificates that outlive their authority": {with(own, func(s *certificatesv1alpha1.CertificateBundleSpec) {
			s.CA.Duration = &metav1.Duration{Duration: 90 * 24 * time.Hour}
		}), []string{"spec.certificate.duration", "spec.ca.duration"}},
		"an authority that is replaced too late": {with(own, func(s *certificatesv1alpha1.CertificateBundleSpec) {
			s.Rotation = &certificatesv1alpha1.RotationSpec{Age: metav1.Duration{Duration: 87600 * time.Hour}}
		}), []string{"spec.rotation.age", "spec.ca.duration"}},
		"anchors that are loaded in no time": {with(own, func(s *certificatesv1alpha1.CertificateBundleSpec) {
			s.Rotation = &certificatesv1alpha1.RotationSpec{TrustPropagation: metav1.Duration{Duration: time.Millisecond}}
		}), []string{"use 1s or more"}},
		"a cluster that is left out for no reason": {with(own, func(s *certificatesv1alpha1.CertificateBundleSpec) {
			s.Rotation = &certificatesv1alpha1.RotationSpec{Exclude: []certificatesv1alpha1.RotationExclusion{{Cluster: "prod"}}}
		}), []string{"spec.rotation.exclude[0].reason"}},
		"two ways of namespaces": {func(s *certificatesv1alpha1.CertificateBundleSpec) {
			s.Targets[0].NamespaceSelector = &metav1.LabelSelector{}
		},
			[]string{"set namespaces or namespaceSelector"}},
		"a keystore without password": {func(s *certificatesv1alpha1.CertificateBundleSpec) {
			s.Targets[0].Keys = []certificatesv1alpha1.SecretKey{{Key: "keystore.p12", Format: certificatesv1alpha1.FormatPKCS12}}
		}, []string{"passwordSecretRef"}},
		"an RSA key of 256 bits": {func(s *certificatesv1alpha1.CertificateBundleSpec) {
			s.Certificate.PrivateKey = certificatesv1alpha1.PrivateKeyTemplate{Algorithm: "RSA", Size: 256}
		}, []string{"size is 2048, 3072 or 4096 with RSA"}},
	} {
		t.Run(name, func(t *testing.T) {
			one := bundle(namespace)
			test.edit(&one.Spec)
			err := admin.Create(t.Context(), one)
			if len(test.words) == 0 {
				must(t, err)
				return
			}
			expectRefusal(t, err, test.words...)
		})
	}
}
