package customerkubeconfig

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/kubeconfig"
)

// Key in the Secret's data, as in Cluster API's.
const Key = "value"

// SecretName is that of the Secret for a TenantCluster. Cluster API reads <cluster>-kubeconfig and names with other endings, whatever
// the cluster is called; this ending is none of them.
func SecretName(tenant string) string { return tenant + "-access" }

// Desired returns the Secret with which a customer reaches a cluster. It has what was accepted of Cluster API's kubeconfig, and
// nothing else of that.
func Desired(tenant *tenancyv1alpha1.TenantCluster, access kubeconfig.Access) (*corev1.Secret, error) {
	content, err := access.Kubeconfig(tenant.Name)
	if err != nil {
		return nil, fmt.Errorf("write the kubeconfig of TenantCluster %s: %w", tenant.Name, err)
	}
	sum := sha256.Sum256(content)
	immutable := true
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: tenant.Namespace, Name: SecretName(tenant.Name),
			Labels: map[string]string{metav1alpha1.LabelCluster: tenant.Name, metav1alpha1.LabelHash: "v1-" + hex.EncodeToString(sum[:8])},
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(tenant, tenancyv1alpha1.GroupVersion.WithKind("TenantCluster")),
			},
		},
		Type:      tenancyv1alpha1.SecretTypeKubeconfig,
		Immutable: &immutable,
		Data:      map[string][]byte{Key: content},
	}, nil
}

// Standing is how the Secret of that name stands to the one that is desired.
type Standing int

// Standings.
const (
	// Missing: there is none.
	Missing Standing = iota
	// Current: it is the desired one.
	Current
	// Outdated: it is ours, and has another kubeconfig. It is immutable, so it is replaced.
	Outdated
	// Foreign: somebody else made it.
	Foreign
)

// Compare looks at metadata alone; found is nil if there is no Secret. Nobody can change what an immutable Secret holds.
func Compare(tenant *tenancyv1alpha1.TenantCluster, found *metav1.PartialObjectMetadata, desired *corev1.Secret) Standing {
	switch {
	case found == nil:
		return Missing
	case !IsOurs(tenant, found):
		return Foreign
	case found.Labels[metav1alpha1.LabelHash] != desired.Labels[metav1alpha1.LabelHash]:
		return Outdated
	}
	return Current
}

// IsOurs is whether a Secret was made for this TenantCluster, and not by somebody else or for one of the same name before.
func IsOurs(tenant *tenancyv1alpha1.TenantCluster, found *metav1.PartialObjectMetadata) bool {
	return metav1.IsControlledBy(found, tenant)
}
