package controllers

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// hanging is the namespace of a customer whose objects cannot be written: the requests are never answered.
const hanging = "hanging"

func TestWritesThatAreNeverAnsweredHoldUpNobodyElse(t *testing.T) {
	t.Parallel()
	w := newEmptyEnv(t)
	w.limits.Write = time.Second
	var swallowed atomic.Int32
	w.failpoint.swallows = func(r *http.Request) bool {
		if !anyWrite(r) || !strings.Contains(r.URL.Path, "/namespaces/"+hanging+"/") {
			return false
		}
		swallowed.Add(1)
		return true
	}
	w.register(w.workloadProxy.kubeconfig(t))
	w.start()

	if err := w.management.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: hanging}}); err != nil {
		t.Fatal(err)
	}
	// More than are worked on at a time.
	const addons, workers = 6, 4
	for i := range addons {
		if err := w.management.Create(t.Context(), oneConfigMapAddon(hanging, fmt.Sprintf("addon-%d", i))); err != nil {
			t.Fatal(err)
		}
	}
	w.await(func() string {
		if n := swallowed.Load(); n < workers {
			return fmt.Sprintf("%d writes hang, want %d", n, workers)
		}
		return ""
	})
	other := oneConfigMapAddon("default", "other")
	if err := w.management.Create(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	w.await(func() string {
		if err := w.management.Get(t.Context(), client.ObjectKeyFromObject(other), other); err != nil {
			return err.Error()
		}
		if !meta.IsStatusConditionTrue(other.Status.Conditions, metav1alpha1.ConditionReady) {
			return fmt.Sprintf("the add-on of another customer is not ready: %+v", other.Status.Conditions)
		}
		return ""
	})
}

func oneConfigMapAddon(namespace, name string) *addonsv1alpha1.SaaSAddon {
	return &addonsv1alpha1.SaaSAddon{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: addonsv1alpha1.SaaSAddonSpec{
			PolicySpec: metav1alpha1.PolicySpec{ClusterNames: []string{"prod"}}, Namespace: "default",
			Source: addonsv1alpha1.AddonSource{Manifests: &addonsv1alpha1.ManifestSource{
				Inline: fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n", name),
			}},
		},
	}
}
