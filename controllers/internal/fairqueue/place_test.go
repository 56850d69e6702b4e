package fairqueue

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// cached is a cache with one ConfigMap, or none.
type cached struct {
	client.Reader
	object *corev1.ConfigMap
}

func (c cached) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	if c.object == nil {
		return errors.New("not found")
	}
	c.object.DeepCopyInto(into.(*corev1.ConfigMap))
	return nil
}

func TestAKeyCountsForTheNamespaceOfItsCluster(t *testing.T) {
	now := metav1.Now()
	cluster := types.NamespacedName{Namespace: "customer", Name: "production"}
	deleted := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &now}}
	for name, test := range map[string]struct {
		object  *corev1.ConfigMap
		cluster types.NamespacedName
		want    Place
	}{
		"in the cluster of a customer": {&corev1.ConfigMap{}, cluster, Place{Tenant: "customer", Cluster: cluster}},
		"being deleted":                {deleted, cluster, Place{Tenant: "customer", Cluster: cluster, Urgent: true}},
		"in no cluster":                {&corev1.ConfigMap{}, types.NamespacedName{}, Place{Tenant: "provider"}},
		"gone":                         {nil, cluster, Place{Tenant: "provider"}},
	} {
		t.Run(name, func(t *testing.T) {
			locate := InCluster(cached{object: test.object}, func() *corev1.ConfigMap { return &corev1.ConfigMap{} },
				func(*corev1.ConfigMap) types.NamespacedName { return test.cluster })
			request := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "provider", Name: "a"}}
			if got := locate(request); got != test.want {
				t.Errorf("%+v, want %+v", got, test.want)
			}
		})
	}
}
