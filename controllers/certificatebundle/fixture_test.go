package certificatebundle

import (
	"context"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/issuance/issuancetest"
)

const (
	namespace = "acme"
	password  = "opensesame-of-the-keystore"
)

// now is when everything of issuancetest is valid.
var now = issuancetest.Now

type bundleChange func(*certificatesv1alpha1.CertificateBundle)

// newBundle is a bundle that may be as it is.
func newBundle(changes ...bundleChange) *certificatesv1alpha1.CertificateBundle {
	bundle := &certificatesv1alpha1.CertificateBundle{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web", Generation: 3}}
	bundle.Spec.Certificate = &certificatesv1alpha1.CertificateTemplate{DNSNames: []string{"{{ .Cluster.Name }}.example.com"}}
	bundle.Spec.IssuerRef = &certificatesv1alpha1.IssuerReference{Kind: "Issuer", Name: "ca"}
	bundle.Spec.Targets = []certificatesv1alpha1.SecretTarget{{SecretName: "web-tls", Placement: in("shop")}}
	bundle.Status.ObservedGeneration = 3
	for _, change := range changes {
		change(bundle)
	}
	return bundle
}

func in(namespaces ...string) certificatesv1alpha1.Placement {
	return certificatesv1alpha1.Placement{Namespaces: namespaces}
}

// trusting has a bundle hand out anchors.
func trusting(sources ...certificatesv1alpha1.TrustSource) bundleChange {
	return func(bundle *certificatesv1alpha1.CertificateBundle) {
		bundle.Spec.Trust = &certificatesv1alpha1.Trust{
			Sources: sources, Targets: []certificatesv1alpha1.TrustTarget{{Kind: "ConfigMap", Name: "anchors", Key: "ca.crt", Placement: in("shop")}},
		}
	}
}

func source(kind, name string) certificatesv1alpha1.TrustSource {
	return certificatesv1alpha1.TrustSource{Kind: kind, Name: name, Key: "ca.crt"}
}

// keystores has the only target of a bundle hold keystores.
func keystores(keys ...certificatesv1alpha1.SecretKey) bundleChange {
	return func(bundle *certificatesv1alpha1.CertificateBundle) { bundle.Spec.Targets[0].Keys = keys }
}

func store(format certificatesv1alpha1.KeyFormat, secret, key string) certificatesv1alpha1.SecretKey {
	return certificatesv1alpha1.SecretKey{Key: "store", Format: format, PasswordSecretRef: &metav1alpha1.SecretKeyReference{Name: secret, Key: key}}
}

// reading is a reconciler of which the API server has some objects.
func reading(there ...client.Object) *Reconciler {
	return &Reconciler{APIReader: fake.NewClientBuilder().WithObjects(slices.Clone(there)...).Build()}
}

// failing is an API server that answers nothing.
type failing struct{ client.Reader }

// Get implements client.Reader.
func (failing) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return context.DeadlineExceeded
}

func expired(t *testing.T, name string) issuancetest.Certificate {
	return issuancetest.Root(t, name, issuancetest.Valid(-2*time.Hour, -time.Hour))
}
