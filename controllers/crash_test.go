package controllers

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// phase is something that a manager is killed in.
type phase struct {
	name string
	// before is what the add-on is before it, if there is one.
	before state
	act    func(*crashEnv, string)
	// meanwhile is what people do between the manager's death and the next manager's start.
	meanwhile func(*crashEnv, string)
	after     state
}

// TestKilledBetweenAnyTwoWritesItEndsWhereAnUndisturbedRunEnds lets each write of an install, of an
// update that prunes, and of a deletion be the manager's last: it is carried out, its answer is lost,
// and nothing that the manager says after it is heard. The next manager must end where an undisturbed
// one ends, also where people changed their mind in between.
func TestKilledBetweenAnyTwoWritesItEndsWhereAnUndisturbedRunEnds(t *testing.T) {
	w := newCrashEnv(t)
	for i, phase := range []phase{
		{name: "Install", act: (*crashEnv).install, after: installed},
		{name: "InstallThenChange", act: (*crashEnv).install, meanwhile: (*crashEnv).prune, after: pruned},
		{name: "InstallThenDelete", act: (*crashEnv).install, meanwhile: (*crashEnv).delete, after: state{}},
		{name: "Prune", before: installed, act: (*crashEnv).prune, after: pruned},
		{name: "Deletion", before: installed, act: (*crashEnv).delete, after: state{}},
	} {
		killAfterEach(t, phase.name+"/", i, sampledKills, func(t *testing.T, last int) bool {
			w.t = t
			return w.play(phase, fmt.Sprintf("%s-%d", strings.ToLower(phase.name), last), last)
		})
	}
}

// play lets one write be the last. It returns whether there was such a write.
func (w *crashEnv) play(p phase, name string, last int) bool {
	w.t.Helper()
	if p.before != nil {
		w.install(name)
		w.waitState(name, p.before)
	}
	blown := w.failpoint.arm(last)
	p.act(w, name)
	undisturbed := p.after
	if p.meanwhile != nil {
		undisturbed = installed
	}
	blew := w.blows(blown, func() string { return w.differs(name, undisturbed) })
	if blew {
		w.end()
	}
	if p.meanwhile != nil {
		p.meanwhile(w, name)
	}
	if blew {
		w.restarted()
	}
	w.waitState(name, p.after)
	w.checkNothingLeaked(name)
	return blew
}

// playToEnd lets one write of what follows an act be the last, and waits until nothing is undone all the same. It returns
// whether there was such a write.
func (w *crashEnv) playToEnd(last int, act func(), undone func() string) bool {
	w.t.Helper()
	blown := w.failpoint.arm(last)
	act()
	blew := w.blows(blown, undone)
	if blew {
		w.end()
		w.restarted()
	}
	w.await(undone)
	return blew
}

// state is the data of the ConfigMaps of one add-on, by name.
type state map[string]string

var (
	installed = state{"kept": "1", "dropped": "1"}
	pruned    = state{"kept": "2", "added": "1"}
)

func (s state) manifests(name string) string {
	var text strings.Builder
	for _, key := range slices.Sorted(maps.Keys(s)) {
		fmt.Fprintf(&text, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s-%s, labels: {addon: %s}}\ndata: {value: %q}\n---\n", name, key, name, s[key])
	}
	return text.String()
}

func (w *crashEnv) install(name string) { w.declare(name, false, installed.manifests(name)) }

func (w *crashEnv) prune(name string) { w.patchSource(name, pruned.manifests(name)) }

// declare makes an add-on of manifests.
func (w *crashEnv) declare(name string, adopt bool, manifests string) {
	w.t.Helper()
	if err := w.management.Create(w.t.Context(), &addonsv1alpha1.SaaSAddon{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: addonsv1alpha1.SaaSAddonSpec{
			PolicySpec: metav1alpha1.PolicySpec{ClusterNames: []string{"prod"}}, Namespace: "default", Adopt: adopt,
			Source: addonsv1alpha1.AddonSource{Manifests: &addonsv1alpha1.ManifestSource{Inline: manifests}},
		},
	}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *crashEnv) patchSource(name, manifests string) {
	w.t.Helper()
	addon := &addonsv1alpha1.SaaSAddon{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"source": map[string]any{"manifests": map[string]any{"inline": manifests}}}})
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.management.Patch(w.t.Context(), addon, client.RawPatch("application/merge-patch+json", patch)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *crashEnv) delete(name string) {
	w.t.Helper()
	addon := &addonsv1alpha1.SaaSAddon{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	if err := w.management.Delete(w.t.Context(), addon); err != nil {
		w.t.Fatal(err)
	}
}

func (w *crashEnv) waitState(name string, want state) {
	w.t.Helper()
	w.await(func() string { return w.differs(name, want) })
}

// differs says how an add-on is not as wanted, in the workload cluster and in its status.
func (w *crashEnv) differs(name string, want state) string {
	var list corev1.ConfigMapList
	if err := w.workload.List(context.Background(), &list, client.InNamespace("default"), client.MatchingLabels{"addon": name}); err != nil {
		return err.Error()
	}
	got := state{}
	for _, item := range list.Items {
		got[strings.TrimPrefix(item.Name, name+"-")] = item.Data["value"]
	}
	if !maps.Equal(got, want) {
		return fmt.Sprintf("the cluster has %v, want %v", got, want)
	}
	addon := &addonsv1alpha1.SaaSAddon{}
	err := w.management.Get(context.Background(), client.ObjectKey{Namespace: "default", Name: name}, addon)
	if len(want) == 0 {
		if apierrors.IsNotFound(err) {
			return ""
		}
		return fmt.Sprintf("the SaaSAddon is still there: %v %v", err, addon.Status.Conditions)
	}
	ready := meta.FindStatusCondition(addon.Status.Conditions, metav1alpha1.ConditionReady)
	if err != nil || ready == nil || ready.Status != metav1.ConditionTrue || ready.ObservedGeneration != addon.Generation {
		return fmt.Sprintf("the SaaSAddon is not Ready: %v %+v", err, ready)
	}
	return w.inventoryDiffers(name, want)
}

func (w *crashEnv) inventoryDiffers(name string, want state) string {
	var releases addonsv1alpha1.AddonReleaseList
	if err := w.management.List(context.Background(), &releases, client.MatchingLabels{metav1alpha1.LabelPolicy: name}); err != nil {
		return err.Error()
	}
	if len(releases.Items) != 1 {
		return fmt.Sprintf("there are %d targets", len(releases.Items))
	}
	var ids []string
	for _, entry := range releases.Items[0].Status.Inventory {
		if entry.UID == "" {
			return entry.ID + " is only intended"
		}
		ids = append(ids, strings.TrimPrefix(entry.ID, "v1/ConfigMap/default/"+name+"-"))
	}
	if !slices.Equal(ids, slices.Sorted(maps.Keys(want))) {
		return fmt.Sprintf("the inventory is %v", ids)
	}
	return ""
}

// checkNothingLeaked looks for what a deleted add-on may leave in the management cluster.
func (w *crashEnv) checkNothingLeaked(name string) {
	w.t.Helper()
	addon := &addonsv1alpha1.SaaSAddon{}
	err := w.management.Get(w.t.Context(), client.ObjectKey{Namespace: "default", Name: name}, addon)
	if !apierrors.IsNotFound(err) {
		return
	}
	for _, list := range []client.ObjectList{&corev1.SecretList{}, &addonsv1alpha1.AddonReleaseList{}} {
		if err := w.management.List(w.t.Context(), list, client.MatchingLabels{metav1alpha1.LabelPolicy: name}); err != nil {
			w.t.Fatal(err)
		}
		if count := meta.LenList(list); count != 0 {
			w.t.Errorf("%d objects of %T are left", count, list)
		}
	}
}
