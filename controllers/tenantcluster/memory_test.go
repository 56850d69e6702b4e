package tenantcluster

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
)

// countingReader counts what is read through it.
type countingReader struct {
	client.Reader
	reads int
}

func (c *countingReader) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	c.reads++
	return c.Reader.Get(ctx, key, object, options...)
}

func TestContentOfASecretIsReadOncePerVersion(t *testing.T) {
	tenant := newTenant(t)
	tenant.secret("access", shared.blue.Kubeconfig())
	live := &countingReader{Reader: tenant.admin}
	r := &reconciler{client: tenant.admin, live: live}
	cluster := &tenancyv1alpha1.TenantCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: tenant.namespace, Name: "prod"},
		Spec:       tenancyv1alpha1.TenantClusterSpec{KubeconfigRef: &tenancyv1alpha1.KubeconfigReference{Name: "access", Key: "value"}},
	}
	expect := func(what string, reads int, valid bool) {
		t.Helper()
		found, err := r.findCredentials(t.Context(), observation{cluster: cluster})
		if err != nil || (found.problem == nil) != valid {
			t.Fatalf("%s: problem %v, %v", what, found.problem, err)
		}
		if live.reads != reads {
			t.Errorf("%s: read %d times, want %d", what, live.reads, reads)
		}
	}
	expect("first", 1, true)
	expect("steady state", 1, true)
	tenant.secret("access", []byte("refused"))
	expect("changed", 2, false)
	expect("refused, steady state", 2, false)

	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: tenant.namespace, Name: "access"}}
	if err := tenant.admin.Patch(t.Context(), secret, client.RawPatch(types.MergePatchType, []byte(`{"data":{"other":"eA=="}}`))); err != nil {
		t.Fatal(err)
	}
	cluster.Spec.KubeconfigRef.Key = "other"
	expect("another key", 3, false)
	r.memory.Forget(client.ObjectKeyFromObject(cluster))
	expect("forgotten", 4, false)
}
