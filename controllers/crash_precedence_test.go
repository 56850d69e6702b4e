package controllers

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
)

const (
	providerNamespace = "daytwo-system"
	providerLabel     = "provider.daytwo.dev/tier"
)

// TestKilledWhileTheProvidersAddonTakesAnObjectItIsTheProvidersInTheEnd lets each write of the takeover be the manager's last.
// The object must end as the provider's add-on declares it, as the object that it was, and on the record of that one alone.
func TestKilledWhileTheProvidersAddonTakesAnObjectItIsTheProvidersInTheEnd(t *testing.T) {
	w := newCrashEnv(t)
	tenant := &tenancyv1alpha1.TenantCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "prod"}}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"`+providerLabel+`":"gold"}}}`))
	if err := w.management.Patch(t.Context(), tenant, patch); err != nil {
		t.Fatal(err)
	}
	killAfterEach(t, "", 0, sampledKills, func(t *testing.T, last int) bool {
		w.t = t
		return w.playTakeover(fmt.Sprintf("taken-%d", last), last)
	})
}

func (w *crashEnv) playTakeover(name string, last int) bool {
	w.t.Helper()
	w.install(name)
	w.waitState(name, installed)
	before := w.sharedConfigMap(name)
	blew := w.playToEnd(last, func() { w.installForProvider(name) }, func() string { return w.notTaken(name, before.UID) })
	for _, namespace := range []string{providerNamespace, "default"} {
		addon := &addonsv1alpha1.SaaSAddon{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		if err := w.management.Delete(w.t.Context(), addon); err != nil {
			w.t.Fatal(err)
		}
	}
	w.await(func() string { return w.differs(name, state{}) })
	return blew
}

// installForProvider has the provider declare one of the customer's objects.
func (w *crashEnv) installForProvider(name string) {
	w.t.Helper()
	spec := addonsv1alpha1.SaaSAddonSpec{
		Namespace: "default",
		Source:    addonsv1alpha1.AddonSource{Manifests: &addonsv1alpha1.ManifestSource{Inline: state{"kept": "provider's"}.manifests(name)}},
	}
	spec.ClusterNamespaceSelector = &metav1.LabelSelector{}
	spec.ClusterSelector = &metav1.LabelSelector{MatchLabels: map[string]string{providerLabel: "gold"}}
	addon := &addonsv1alpha1.SaaSAddon{ObjectMeta: metav1.ObjectMeta{Namespace: providerNamespace, Name: name}, Spec: spec}
	if err := w.management.Create(w.t.Context(), addon); err != nil {
		w.t.Fatal(err)
	}
}

func (w *crashEnv) sharedConfigMap(name string) *corev1.ConfigMap {
	w.t.Helper()
	found := &corev1.ConfigMap{}
	if err := w.workload.Get(w.t.Context(), client.ObjectKey{Namespace: "default", Name: name + "-kept"}, found); err != nil {
		w.t.Fatal(err)
	}
	return found
}

// notTaken says how the takeover is not as it has to end.
func (w *crashEnv) notTaken(name string, uid types.UID) string {
	w.t.Helper()
	if now := w.sharedConfigMap(name); now.UID != uid || now.Data["value"] != "provider's" {
		return fmt.Sprintf("the object is %s with %v, and was %s", now.UID, now.Data, uid)
	}
	var releases addonsv1alpha1.AddonReleaseList
	if err := w.management.List(context.Background(), &releases, client.MatchingLabels{metav1alpha1.LabelPolicy: name}); err != nil {
		return err.Error()
	}
	told := map[string]string{}
	for _, one := range releases.Items {
		ready := meta.FindStatusCondition(one.Status.Conditions, metav1alpha1.ConditionReady)
		if ready == nil {
			return "the target in " + one.Namespace + " tells nothing"
		}
		var listed []string
		for _, entry := range one.Status.Inventory {
			listed = append(listed, entry.ID[strings.LastIndex(entry.ID, "-")+1:])
		}
		told[one.Namespace] = fmt.Sprint(ready.Reason, listed)
	}
	if want := map[string]string{providerNamespace: "Succeeded[kept]", "default": "Conflict[dropped]"}; !maps.Equal(told, want) {
		return fmt.Sprintf("the targets tell %v, want %v", told, want)
	}
	return ""
}
