package tenantcluster

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

// tenant is one customer's namespace. It is empty again when its test ends.
type tenant struct {
	*testing.T
	ctx       context.Context
	admin     client.Client
	namespace string
}

func newTenant(t *testing.T) *tenant {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "customer-"}}
	if err := shared.admin.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	tenant := &tenant{T: t, ctx: t.Context(), admin: shared.admin, namespace: namespace.Name}
	t.Cleanup(tenant.leave)
	return tenant
}

// leave deletes the TenantClusters: the clusters are free for the next test then.
func (t *tenant) leave() {
	ctx := context.Background()
	if err := t.admin.DeleteAllOf(ctx, &tenancyv1alpha1.TenantCluster{}, client.InNamespace(t.namespace)); err != nil {
		t.Error(err)
	}
	t.eventuallyIn(ctx, "the TenantClusters are gone", func() (string, bool) {
		list := &tenancyv1alpha1.TenantClusterList{}
		if err := t.admin.List(ctx, list, client.InNamespace(t.namespace)); err != nil {
			return err.Error(), false
		}
		return fmt.Sprintf("%d are left", len(list.Items)), len(list.Items) == 0
	})
}

func (t *tenant) eventually(what string, check func() (found string, ok bool)) {
	t.Helper()
	t.eventuallyIn(t.ctx, what, check)
}

func (t *tenant) eventuallyIn(ctx context.Context, what string, check func() (found string, ok bool)) {
	t.Helper()
	expect.EventuallyIn(ctx, t, what, func(context.Context) error {
		if found, ok := check(); !ok {
			return errors.New(found)
		}
		return nil
	})
}

func (t *tenant) create(object client.Object) {
	t.Helper()
	object.SetNamespace(t.namespace)
	if err := t.admin.Create(t.ctx, object); err != nil {
		t.Fatal(err)
	}
}

// secret creates a Secret with a kubeconfig, or changes it.
func (t *tenant) secret(name string, kubeconfig []byte) {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: t.namespace}, Data: map[string][]byte{"value": kubeconfig}}
	err := t.admin.Create(t.ctx, secret)
	if apierrors.IsAlreadyExists(err) {
		patch := client.MergeFrom(&corev1.Secret{ObjectMeta: secret.ObjectMeta})
		err = t.admin.Patch(t.ctx, secret, patch)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// dropKey leaves a Secret empty.
func (t *tenant) dropKey(name string) {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: t.namespace}}
	if err := t.admin.Patch(t.ctx, secret, client.RawPatch(types.MergePatchType, []byte(`{"data":null}`))); err != nil {
		t.Fatal(err)
	}
}

// imported creates a TenantCluster and its Secret, which has the same name.
func (t *tenant) imported(name string, kubeconfig []byte) {
	t.Helper()
	t.secret(name, kubeconfig)
	t.create(&tenancyv1alpha1.TenantCluster{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       tenancyv1alpha1.TenantClusterSpec{KubeconfigRef: &tenancyv1alpha1.KubeconfigReference{Name: name, Key: "value"}},
	})
}

func (t *tenant) key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: t.namespace, Name: name}
}

func (t *tenant) get(name string) *tenancyv1alpha1.TenantCluster {
	t.Helper()
	cluster := &tenancyv1alpha1.TenantCluster{}
	if err := t.admin.Get(t.ctx, t.key(name), cluster); err != nil {
		t.Fatal(err)
	}
	return cluster
}

func (t *tenant) annotate(name, key, value string) {
	t.Helper()
	t.patch(name, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, key, value))
}

func (t *tenant) patch(name, patch string) {
	t.Helper()
	cluster := &tenancyv1alpha1.TenantCluster{ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: name}}
	if err := t.admin.Patch(t.ctx, cluster, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
}

// waitFor waits until a condition has a status and reason, and returns it.
func (t *tenant) waitFor(name, condition string, status metav1.ConditionStatus, reason string) metav1.Condition {
	t.Helper()
	var found *metav1.Condition
	t.eventually(fmt.Sprintf("%s: %s=%s (%s)", name, condition, status, reason), func() (string, bool) {
		conditions := t.get(name).Status.Conditions
		found = meta.FindStatusCondition(conditions, condition)
		return fmt.Sprintf("%+v", conditions), found != nil && found.Status == status && found.Reason == reason
	})
	return *found
}

func (t *tenant) waitReady(name string) {
	t.Helper()
	t.waitFor(name, metav1alpha1.ConditionReady, metav1.ConditionTrue, metav1alpha1.ReasonSucceeded)
	if _, ok := shared.connections.Get(t.key(name)); !ok {
		// Admission is asked for before Ready is written; the cluster is handed out a moment later.
		t.eventually("the cluster is handed out", func() (string, bool) {
			_, ok := shared.connections.Get(t.key(name))
			return "", ok
		})
	}
}

func (t *tenant) waitGone(object client.Object) {
	t.Helper()
	t.eventually(fmt.Sprintf("%T %s is gone", object, object.GetName()), func() (string, bool) {
		err := t.admin.Get(t.ctx, client.ObjectKeyFromObject(object), object)
		return fmt.Sprintf("%v, finalizers %v", err, object.GetFinalizers()), apierrors.IsNotFound(err)
	})
}
