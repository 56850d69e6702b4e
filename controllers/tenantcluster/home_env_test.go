package tenantcluster

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestSecretsInANamespaceThatIsOnlyNamedLikeOneForClustersStayHeld(t *testing.T) {
	tenant := newTenant(t)
	other := *tenant
	other.namespace += "-clusters"
	t.Cleanup(other.leave)
	if err := tenant.admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: other.namespace}}); err != nil {
		t.Fatal(err)
	}
	other.imported("theirs", shared.blue.Kubeconfig())
	other.waitReady("theirs")
	before, after := &corev1.Secret{}, &corev1.Secret{}
	if err := tenant.admin.Get(t.Context(), other.key("theirs"), before); err != nil {
		t.Fatal(err)
	}

	tenant.imported("prod", shared.green.Kubeconfig())
	tenant.waitReady("prod")
	prod := tenant.get("prod")
	tenant.delete("prod")
	tenant.waitGone(prod)
	if err := tenant.admin.Get(t.Context(), client.ObjectKeyFromObject(before), after); err != nil {
		t.Fatal(err)
	}
	if after.ResourceVersion != before.ResourceVersion {
		t.Errorf("somebody else's Secret was touched: its finalizers are %v", after.Finalizers)
	}
}
