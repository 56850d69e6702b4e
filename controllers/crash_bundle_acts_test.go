package controllers

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// issue makes a bundle with a certificate and one trust anchor.
func (w *bundleEnv) issue(name string) {
	w.t.Helper()
	w.issueBy(name, "issuer")
}

// issuePending makes one whose issuer issues nothing.
func (w *bundleEnv) issuePending(name string) {
	w.t.Helper()
	w.issueBy(name, "nobody")
}

func (w *bundleEnv) issueBy(name, issuer string) {
	w.t.Helper()
	place := certificatesv1alpha1.Placement{Namespaces: []string{"default"}}
	w.makeBundle(name, func(spec *certificatesv1alpha1.CertificateBundleSpec) {
		spec.Mode, spec.HistoryLimit = certificatesv1alpha1.ModeDistribute, 1
		spec.IssuerRef = &certificatesv1alpha1.IssuerReference{Name: issuer}
		spec.Certificate = &certificatesv1alpha1.CertificateTemplate{DNSNames: []string{name + ".{{ .Cluster.Name }}.test"}}
		spec.Targets = []certificatesv1alpha1.SecretTarget{{Placement: place, SecretName: name + "-tls", IncludeCA: true}}
	})
}

// distribute makes a bundle with one trust anchor, and no certificate.
func (w *bundleEnv) distribute(name string) {
	w.t.Helper()
	w.makeBundle(name, func(spec *certificatesv1alpha1.CertificateBundleSpec) { spec.Mode = certificatesv1alpha1.ModeTrustOnly })
}

func (w *bundleEnv) makeBundle(name string, change func(*certificatesv1alpha1.CertificateBundleSpec)) {
	w.t.Helper()
	place := certificatesv1alpha1.Placement{Namespaces: []string{"default"}}
	bundle := &certificatesv1alpha1.CertificateBundle{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: certificatesv1alpha1.CertificateBundleSpec{
			PolicySpec: metav1alpha1.PolicySpec{ClusterNames: bundleClusters},
			Trust: &certificatesv1alpha1.Trust{
				Sources: []certificatesv1alpha1.TrustSource{{Kind: "ConfigMap", Name: name + "-source"}},
				Targets: []certificatesv1alpha1.TrustTarget{{Placement: place, Kind: "ConfigMap", Name: name + "-anchors"}},
			},
		},
	}
	change(&bundle.Spec)
	source := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name + "-source"}, Data: map[string]string{"ca.crt": w.anchors[0]},
	}
	for _, object := range []client.Object{source, bundle} {
		if err := w.management.Create(w.t.Context(), object); err != nil {
			w.t.Fatal(err)
		}
	}
}

// renew has cert-manager issue new certificates for all clusters, as it does when the old ones are about to expire.
func (w *bundleEnv) renew(name string) {
	w.t.Helper()
	certificates, err := w.certificatesOf(name)
	if err != nil || len(certificates) != len(bundleClusters) {
		w.t.Fatalf("there are %d Certificates: %v", len(certificates), err)
	}
	for i := range certificates {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: secretNameOf(&certificates[i])}}
		if err := w.management.Delete(w.t.Context(), secret); err != nil {
			w.t.Fatal(err)
		}
	}
}

// rename adds a DNS name.
func (w *bundleEnv) rename(name string) {
	w.t.Helper()
	w.patch(&certificatesv1alpha1.CertificateBundle{}, name,
		fmt.Sprintf(`{"spec":{"certificate":{"dnsNames":["%s.{{ .Cluster.Name }}.test",%q]}}}`, name, addedName))
}

// addAnchor has a bundle trust both authorities.
func (w *bundleEnv) addAnchor(name string) {
	w.t.Helper()
	w.patch(&corev1.ConfigMap{}, name+"-source", fmt.Sprintf(`{"data":{"ca.crt":%q}}`, w.anchors[0]+w.anchors[1]))
}

// unselect leaves a bundle one cluster.
func (w *bundleEnv) unselect(name string) {
	w.t.Helper()
	w.patch(&certificatesv1alpha1.CertificateBundle{}, name, fmt.Sprintf(`{"spec":{"clusterNames":[%q]}}`, bundleClusters[0]))
}

// unselectAll leaves a bundle no cluster.
func (w *bundleEnv) unselectAll(name string) {
	w.t.Helper()
	w.patch(&certificatesv1alpha1.CertificateBundle{}, name, `{"spec":{"clusterNames":["nowhere"]}}`)
}

func (w *bundleEnv) patch(object client.Object, name, patch string) {
	w.t.Helper()
	object.SetNamespace("default")
	object.SetName(name)
	if err := w.management.Patch(w.t.Context(), object, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		w.t.Fatal(err)
	}
}

func (w *bundleEnv) deleteBundle(name string) {
	w.t.Helper()
	bundle := &certificatesv1alpha1.CertificateBundle{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	if err := w.management.Delete(w.t.Context(), bundle); err != nil {
		w.t.Fatal(err)
	}
}
