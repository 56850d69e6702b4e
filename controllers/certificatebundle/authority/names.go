package authority

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// issuerKind is in cert-manager's only stable version.
var issuerKind = schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: "Issuer"}

const (
	rootInfix    = "-ca-"
	membersInfix = "-ca-members-"
	// membersKey is where a Secret holds the clusters that take part in a rotation.
	membersKey = "members"
)

// Name is that of the Secret of an authority, and of its Issuer.
func Name(bundle string, generation int64) string {
	return bundle + rootInfix + strconv.FormatInt(generation, 10)
}

func membersName(bundle, hash string) string { return bundle + membersInfix + hash }

// generationOf reads the generation from the name of a Secret; 0 if the Secret holds no authority.
func generationOf(bundle, name string) int64 {
	text, is := strings.CutPrefix(name, bundle+rootInfix)
	generation, err := strconv.ParseInt(text, 10, 64)
	if !is || err != nil || generation < 1 || Name(bundle, generation) != name {
		return 0
	}
	return generation
}

// metadataOf is that of everything that is made beside a bundle for its authorities. It has no owner: an authority that is restored from a
// backup, with a bundle that has another UID then, has to stay. RemoveAll removes what was made.
func metadataOf(bundle *certificatesv1alpha1.CertificateBundle, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: bundle.Namespace, Name: name, Labels: map[string]string{metav1alpha1.LabelAuthority: bundle.Name}}
}

// isOf is whether an object was made for a bundle.
func isOf(object client.Object, bundle *certificatesv1alpha1.CertificateBundle) bool {
	return object.GetLabels()[metav1alpha1.LabelAuthority] == bundle.Name
}

func commonNameOf(bundle *certificatesv1alpha1.CertificateBundle, generation int64) string {
	name := bundle.Spec.CA.CommonName
	if name == "" {
		name = bundle.Namespace + "/" + bundle.Name
		name = name[:min(len(name), maxCommonName)]
	}
	return fmt.Sprintf("%s %d", name, generation)
}

// maxCommonName leaves room for the generation in the 64 bytes that RFC 5280 allows.
const maxCommonName = 48

func rootSecret(bundle *certificatesv1alpha1.CertificateBundle, generation int64, certificate, key []byte) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metadataOf(bundle, Name(bundle.Name, generation)),
		Type:       corev1.SecretTypeTLS, Immutable: ptr.To(true),
		Data: map[string][]byte{corev1.TLSCertKey: certificate, corev1.TLSPrivateKeyKey: key},
	}
}

func membersSecret(bundle *certificatesv1alpha1.CertificateBundle, hash string, encoded []byte) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metadataOf(bundle, membersName(bundle.Name, hash)),
		Type:       metav1alpha1.SecretTypeRotationMembers, Immutable: ptr.To(true), Data: map[string][]byte{membersKey: encoded},
	}
}

// newIssuer is the Issuer of cert-manager that issues from a generation. cert-manager's Go types would bring the API of gateways along.
func newIssuer(bundle *certificatesv1alpha1.CertificateBundle, generation int64) *unstructured.Unstructured {
	name := Name(bundle.Name, generation)
	issuer := issuerNamed(bundle.Namespace, name)
	issuer.SetLabels(metadataOf(bundle, name).Labels)
	issuer.Object["spec"] = map[string]any{"ca": map[string]any{"secretName": name}}
	return issuer
}

func issuerNamed(namespace, name string) *unstructured.Unstructured {
	issuer := &unstructured.Unstructured{Object: map[string]any{}}
	issuer.SetGroupVersionKind(issuerKind)
	issuer.SetNamespace(namespace)
	issuer.SetName(name)
	return issuer
}
