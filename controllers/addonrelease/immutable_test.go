package addonrelease

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

func TestAFieldThatNeverChangesIsToldWithTheRemedy(t *testing.T) {
	t.Parallel()
	const job = `
apiVersion: batch/v1
kind: Job
metadata: {name: import}
spec:
  suspend: true
  template:
    spec: {restartPolicy: Never, containers: [{name: import, image: "registry/import:%d"}]}
`
	a := newAddon(t, fmt.Sprintf(job, 1))
	a.waitFor(metav1alpha1.ConditionApplied, metav1.ConditionTrue, metav1alpha1.ReasonSucceeded)
	a.apply(fmt.Sprintf(job, 2))
	refused := a.waitFor(metav1alpha1.ConditionReady, metav1.ConditionFalse, metav1alpha1.ReasonRefused)
	message := meta.FindStatusCondition(refused.Status.Conditions, metav1alpha1.ConditionReady).Message
	for _, want := range []string{"spec.template.spec of a Job never changes", "delete the Job", `daytwo.dev/replace: "true"`} {
		if !strings.Contains(message, want) {
			t.Errorf("%q lacks %q", message, want)
		}
	}
	if strings.Contains(message, "PodTemplateSpec") {
		t.Errorf("a struct is dumped: %q", message)
	}
}

// settingsThatNeverChange is a ConfigMap that refuses another content.
func settingsThatNeverChange(value, finalizers, replace string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\n  finalizers: [%s]\n  annotations: {%s: %q}\nimmutable: true\ndata: {value: %q}\n",
		finalizers, metav1alpha1.AnnotationReplace, replace, value)
}

func (a *addon) unchanging() *corev1.ConfigMap {
	found := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: "settings"}}
	if err := client.IgnoreNotFound(shared.workload.Get(a.t.Context(), client.ObjectKeyFromObject(found), found)); err != nil {
		a.t.Error(err)
	}
	return found
}

func TestAnObjectIsMadeAnewWhereThatIsAskedForAndOnceTheOldOneIsGone(t *testing.T) {
	t.Parallel()
	a := newAddon(t, settingsThatNeverChange("one", "example.com/held", "true"))
	a.waitReady()
	old := a.unchanging()
	a.apply(settingsThatNeverChange("two", "", "true"))
	a.waitFor(metav1alpha1.ConditionReady, metav1.ConditionFalse, metav1alpha1.ReasonWaiting)
	eventually(t, "the object is being deleted", func() (bool, string) {
		is := a.unchanging()
		return is.UID == old.UID && is.DeletionTimestamp != nil, describeConditions(a.get())
	})
	held := a.unchanging()
	freed := held.DeepCopy()
	freed.Finalizers = nil
	if err := shared.workload.Patch(t.Context(), freed, client.MergeFrom(held)); err != nil {
		t.Fatal(err)
	}
	release := a.waitReady()
	if is := a.unchanging(); is.UID == old.UID || is.Data["value"] != "two" {
		t.Errorf("the object is %s with %q", is.UID, is.Data)
	}
	if release.Status.Drift.Count != 0 {
		t.Errorf("our own deletion counts as drift: %+v", release.Status.Drift)
	}
}

func TestAnObjectIsNotMadeAnewUnlessThatIsAskedFor(t *testing.T) {
	t.Parallel()
	a := newAddon(t, settingsThatNeverChange("one", "", "false"))
	a.waitReady()
	old := a.unchanging()
	a.apply(settingsThatNeverChange("two", "", "false"))
	a.waitFor(metav1alpha1.ConditionReady, metav1.ConditionFalse, metav1alpha1.ReasonRefused)
	if is := a.unchanging(); is.UID != old.UID || is.DeletionTimestamp != nil {
		t.Errorf("the object was %s and is %s, deleted %s", old.UID, is.UID, is.DeletionTimestamp)
	}
}
