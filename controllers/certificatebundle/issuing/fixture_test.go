package issuing

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/certificatecontent"
	"github.com/daytwo-dev/daytwo/controllers/internal/clustertemplate"
	"github.com/daytwo-dev/daytwo/controllers/internal/issuance"
	"github.com/daytwo-dev/daytwo/controllers/internal/issuance/issuancetest"
	"github.com/daytwo-dev/daytwo/controllers/internal/optionalkind"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

const hour = time.Hour

var (
	now    = issuancetest.Now
	webKey = Key{Bundle: types.NamespacedName{Namespace: "acme", Name: "web"}, Cluster: rollout.ClusterKey{Namespace: "acme", Name: "prod"}}
)

type templateChange func(*certificatesv1alpha1.CertificateTemplate)

func newBundle(changes ...templateChange) *certificatesv1alpha1.CertificateBundle {
	bundle := &certificatesv1alpha1.CertificateBundle{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "web", UID: "bundle"}}
	bundle.Spec.IssuerRef = &certificatesv1alpha1.IssuerReference{Kind: "Issuer", Name: "ca"}
	bundle.Spec.HistoryLimit = 2
	bundle.Spec.Certificate = &certificatesv1alpha1.CertificateTemplate{
		DNSNames: []string{"{{ .Cluster.Name }}.example.com"}, Duration: &metav1.Duration{Duration: 90 * 24 * hour},
		PrivateKey: certificatesv1alpha1.PrivateKeyTemplate{Algorithm: "ECDSA", RotationPolicy: "Always"},
	}
	for _, change := range changes {
		change(bundle.Spec.Certificate)
	}
	return bundle
}

// newObservation is of a certificate that is wanted, and of which nothing is there yet.
func newObservation(t *testing.T, bundle *certificatesv1alpha1.CertificateBundle) observation {
	t.Helper()
	o := observation{
		key: webKey, now: now, bundle: bundle, needed: true, selected: true, inUse: map[string]bool{}, presence: optionalkind.Absent,
	}
	o.issuer = *bundle.Spec.IssuerRef
	var err error
	o.request, err = certificatecontent.RequestFor(bundle.Spec.Certificate, clustertemplate.Cluster{ClusterReference: metav1alpha1.ClusterReference(webKey.Cluster)})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// asked has a Certificate that asks for what a bundle with these changes wants.
func asked(t *testing.T, changes ...templateChange) func(*observation) {
	return func(o *observation) {
		other := newObservation(t, newBundle(changes...))
		o.certificate, o.presence = desiredCertificate(other), optionalkind.Present
		o.certificate.SetGeneration(4)
	}
}

// saying has cert-manager tell a condition of the Certificate.
func saying(kind, status, message string) func(*observation) {
	return func(o *observation) {
		list, _, _ := unstructured.NestedSlice(o.certificate.Object, "status", "conditions")
		list = append(list, map[string]any{"type": kind, "status": status, "message": message, "observedGeneration": int64(4)})
		o.certificate.Object["status"] = map[string]any{"conditions": list}
	}
}

// issuedBy has cert-manager's Secret hold a certificate by a CA.
func issuedBy(t *testing.T, root issuancetest.Certificate, name string, changes ...issuancetest.Change) func(*observation) {
	return func(o *observation) {
		leaf := root.Leaf(t, name, changes...)
		o.source = "secret/7"
		o.material = &issuance.Material{Certificate: leaf.PEM(), PrivateKey: leaf.KeyPEM(t), CA: root.PEM()}
	}
}

// stored are issuances for the request of the observation, the newest first.
func stored(names ...string) func(*observation) {
	return func(o *observation) {
		for i, name := range names {
			from := now.Add(-time.Duration(i+1) * hour)
			o.issuances = append(o.issuances, Issuance{Name: name, Request: o.requestHash(), NotBefore: from, NotAfter: from.Add(90 * 24 * hour)})
		}
	}
}
