package controllers

import (
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

// abandon deletes a cluster that does not answer any more, and has targets of two kinds. It ends when a person abandons
// both, and what they leave is recorded.
func (w *toyEnv) abandon(name string) {
	const cluster = "three"
	addon := &addonsv1alpha1.SaaSAddon{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	addon.Spec.ClusterNames = []string{cluster}
	addon.Spec.Source.Manifests = &addonsv1alpha1.ManifestSource{Inline: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: addon, namespace: default}\n"}
	if err := w.management.Create(w.t.Context(), addon); err != nil {
		w.t.Fatal(err)
	}
	w.createNote(name, "text", cluster)
	key := client.ObjectKey{Namespace: "default", Name: rollout.TargetName(name, rollout.ClusterKey{Namespace: "default", Name: cluster})}
	release := &addonsv1alpha1.AddonRelease{}
	w.await(func() string {
		if err := w.management.Get(w.t.Context(), key, release); err != nil || len(release.Status.Inventory) == 0 || release.Status.Applying != "" {
			return fmt.Sprintf("the AddonRelease: %v, %+v", err, release.Status.Conditions)
		}
		return w.told(name, "text", cluster)
	})

	w.clusters[cluster].proxy.sever()
	tenant := &tenancyv1alpha1.TenantCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: cluster}}
	if err := w.management.Delete(w.t.Context(), tenant); err != nil {
		w.t.Fatal(err)
	}
	both := fmt.Sprintf("waits until AddonRelease %s and Note %s are gone", key, key)
	w.await(func() string {
		if err := w.management.Get(w.t.Context(), client.ObjectKeyFromObject(tenant), tenant); err != nil {
			return err.Error()
		}
		if ready := readyMessageOf(tenant); !strings.Contains(ready, both) {
			return ready
		}
		return ""
	})
	for _, target := range []client.Object{release, w.target(name, cluster)} {
		patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"true"}}}`, metav1alpha1.AnnotationAbandon))
		if err := w.management.Patch(w.t.Context(), target, patch); err != nil {
			w.t.Fatal(err)
		}
	}
	w.await(func() string {
		if err := w.management.Get(w.t.Context(), client.ObjectKeyFromObject(tenant), tenant); !apierrors.IsNotFound(err) {
			return fmt.Sprintf("TenantCluster %s is there: %v, %s", cluster, err, readyMessageOf(tenant))
		}
		return w.abandonedBy(key, "AddonRelease", "Note")
	})
}

func readyMessageOf(tenant *tenancyv1alpha1.TenantCluster) string {
	if ready := meta.FindStatusCondition(tenant.Status.Conditions, metav1alpha1.ConditionReady); ready != nil {
		return ready.Message
	}
	return ""
}

// abandonedBy says which kind of target recorded nothing of what it abandoned; empty if all did.
func (w *toyEnv) abandonedBy(key client.ObjectKey, kinds ...string) string {
	records := &tenancyv1alpha1.OrphanRecordList{}
	if err := w.management.List(w.t.Context(), records); err != nil {
		return err.Error()
	}
	recorded := map[string]bool{}
	for _, record := range records.Items {
		spec := record.Spec
		if spec.Owner.Name == key.Name && spec.Reason == tenancyv1alpha1.OrphanAbandoned && len(spec.Objects) == 1 {
			recorded[spec.Owner.Kind] = true
		}
	}
	for _, kind := range kinds {
		if !recorded[kind] {
			return fmt.Sprintf("no record of the %s among %+v", kind, records.Items)
		}
	}
	return ""
}
