package controllers

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// foreignMark is what Flux leaves on an object.
const foreignMark = "kustomize.toolkit.fluxcd.io/name"

// TestKilledWhileItTakesOverWhatAToolMadeItIsTheAddonsInTheEnd lets each write of an adoption be the manager's last: of an object that
// is changed, and of one that never changes and is made anew. Nothing may end with the tool's marks, or be left to it.
func TestKilledWhileItTakesOverWhatAToolMadeItIsTheAddonsInTheEnd(t *testing.T) {
	w := newCrashEnv(t)
	killAfterEach(t, "", 0, sampledKills, func(t *testing.T, last int) bool {
		w.t = t
		return w.playAdoption(fmt.Sprintf("adopted-%d", last), last)
	})
}

// TestKilledWhileItMakesAnObjectAnewThereIsOneInTheEnd lets each write of a replacement be the manager's last.
func TestKilledWhileItMakesAnObjectAnewThereIsOneInTheEnd(t *testing.T) {
	w := newCrashEnv(t)
	killAfterEach(t, "", 0, sampledKills, func(t *testing.T, last int) bool {
		w.t = t
		name := fmt.Sprintf("replaced-%d", last)
		w.declare(name, false, fixed(name, "1"))
		w.waitState(name, state{"fixed": "1"})
		undone := func() string { return w.differs(name, state{"fixed": "2"}) }
		return w.playToEnd(last, func() { w.patchSource(name, fixed(name, "2")) }, undone)
	})
}

// fixed is a ConfigMap that never changes, and is to be made anew.
func fixed(name, value string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s-fixed, labels: {addon: %s}, annotations: {%s: \"true\"}}\nimmutable: true\ndata: {value: %q}\n---\n",
		name, name, metav1alpha1.AnnotationReplace, value)
}

func (w *crashEnv) playAdoption(name string, last int) bool {
	w.t.Helper()
	kept, replaced := w.foreign(name, "kept", false), w.foreign(name, "fixed", true)
	blew := w.playToEnd(last, func() {
		w.declare(name, true, state{"kept": "1"}.manifests(name)+fixed(name, "2"))
	}, func() string { return w.differs(name, state{"kept": "1", "fixed": "2"}) })
	for _, before := range []*corev1.ConfigMap{kept, replaced} {
		now := &corev1.ConfigMap{}
		if err := w.workload.Get(w.t.Context(), client.ObjectKeyFromObject(before), now); err != nil {
			w.t.Fatal(err)
		}
		if anew := now.UID != before.UID; now.Labels[foreignMark] != "" || anew != (before == replaced) {
			w.t.Errorf("%s has the labels %v, made anew: %t", now.Name, now.Labels, anew)
		}
	}
	w.delete(name)
	w.waitState(name, state{})
	return blew
}

// foreign makes a ConfigMap as Flux does.
func (w *crashEnv) foreign(name, key string, immutable bool) *corev1.ConfigMap {
	w.t.Helper()
	made := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name + "-" + key, Labels: map[string]string{
			foreignMark: "apps", "kustomize.toolkit.fluxcd.io/namespace": "flux-system", "addon": name,
		}},
		Data: map[string]string{"value": "theirs"}, Immutable: &immutable,
	}
	if err := w.workload.Create(w.t.Context(), made, client.FieldOwner("kustomize-controller")); err != nil {
		w.t.Fatal(err)
	}
	return made
}
