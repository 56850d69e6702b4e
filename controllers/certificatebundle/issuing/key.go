package issuing

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/issuance"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

// Key is one certificate: that of a bundle in a cluster, or in all of its clusters if Cluster is zero.
type Key struct {
	Bundle  types.NamespacedName
	Cluster rollout.ClusterKey
}

// KeyOf is the certificate that a bundle has in a cluster.
func KeyOf(bundle *certificatesv1alpha1.CertificateBundle, cluster rollout.ClusterKey) Key {
	if bundle.Spec.SharedKey {
		cluster = rollout.ClusterKey{}
	}
	return Key{Bundle: client.ObjectKeyFromObject(bundle), Cluster: cluster}
}

// keyFromLabels is the certificate that an object belongs to, which Daytwo or cert-manager made for it.
func keyFromLabels(object client.Object) (Key, bool) {
	labels := object.GetLabels()
	bundle := labels[metav1alpha1.LabelBundle]
	return Key{
		Bundle:  types.NamespacedName{Namespace: object.GetNamespace(), Name: bundle},
		Cluster: rollout.ClusterKey{Namespace: labels[metav1alpha1.LabelClusterNamespace], Name: labels[metav1alpha1.LabelCluster]},
	}, bundle != ""
}

// labels of everything that is made for a certificate.
func (k Key) labels() map[string]string {
	labels := map[string]string{metav1alpha1.LabelBundle: k.Bundle.Name}
	if k.Cluster.Name != "" {
		labels[metav1alpha1.LabelCluster], labels[metav1alpha1.LabelClusterNamespace] = k.Cluster.Name, k.Cluster.Namespace
	}
	return labels
}

// maxName leaves room for what is appended to the name of a Certificate.
const maxName = 52

// name of the Certificate, and of the Secret in which cert-manager keeps it.
func (k Key) name() string {
	if k.Cluster.Name == "" {
		return objects.ShortName(maxName, k.Bundle.Name, k.Bundle.Name)
	}
	return objects.ShortName(maxName, k.Bundle.Name+"-"+k.Cluster.Name, k.String())
}

// object names an object of the bundle's namespace.
func (k Key) object(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: k.Bundle.Namespace, Name: name}
}

// String is the form for logs and for indexes.
func (k Key) String() string {
	return fmt.Sprintf("%s %s/%s", k.Bundle, k.Cluster.Namespace, k.Cluster.Name)
}

// RequestHash tells one request for a certificate from another: what is asked for, and whom.
func RequestHash(request issuance.Request, issuer certificatesv1alpha1.IssuerReference) string {
	encoded, err := json.Marshal([]any{request, issuer})
	if err != nil {
		panic(fmt.Sprintf("strings and numbers are always JSON: %v", err))
	}
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:16])
}
