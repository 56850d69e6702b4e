package tenantcluster

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// People look for the Secret from the TenantCluster. That of a cluster on order is in another namespace.
func TestTheSecretOfExpiringCredentialsIsNamedAsPeopleFindIt(t *testing.T) {
	for namespace, want := range map[string]string{"acme": "prod-kubeconfig", "acme-clusters": "acme-clusters/prod-kubeconfig"} {
		secret := secretMetadata()
		secret.Namespace, secret.Name = namespace, "prod-kubeconfig"
		o := observation{key: types.NamespacedName{Namespace: "acme", Name: "prod"}, credentials: credentials{secret: secret}}
		if got := o.expiring().Secret; got != want {
			t.Errorf("in %s: got %q, want %q", namespace, got, want)
		}
	}
}
