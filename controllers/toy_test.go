package controllers

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/revision"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/targetstate"
)

// TestKindsOfAHundredAndFiftyLines lets a run, and a policy with its target, live on real API servers: what they can do, the
// rooms do for every kind.
func TestKindsOfAHundredAndFiftyLines(t *testing.T) {
	w := newToyEnv(t)
	w.start()
	t.Run("ARun", func(t *testing.T) { aRun(t, w) })
	t.Run("APair", func(t *testing.T) { aPair(t, w) })
}

// aPair lets NotePolicy and Note live on real API servers.
func aPair(t *testing.T, w *toyEnv) {
	for name, play := range map[string]func(*toyEnv, string){
		"IsRolledOutEditedAndDeleted":             (*toyEnv).liveFromFirstToLast,
		"TakesAHandEditBack":                      (*toyEnv).editByHand,
		"IsHeldOffBySuspension":                   (*toyEnv).suspend,
		"LosesAClusterThatIsNotSelected":          (*toyEnv).withdraw,
		"IsRefusedBeforeItIsWritten":              (*toyEnv).refuse,
		"HasContentOfItsOwnInACluster":            (*toyEnv).tellOneClusterSomethingElse,
		"AcknowledgesWhatWasReadBack":             (*toyEnv).acknowledge,
		"WaitsForItsGatesAndPassesThemWhenUrgent": (*toyEnv).freeze,
	} {
		t.Run(name, func(t *testing.T) {
			w.t = t
			play(w, strings.ToLower(name))
		})
	}
	t.Run("CatchesUpInAClusterThatWasUnreachable", func(t *testing.T) {
		w.t = t
		w.loseACluster("unreachable")
	})
	t.Run("IsAbandonedWithTargetsOfAnotherKind", func(t *testing.T) {
		w.t = t
		w.abandon("abandoned")
	})
	for i, phase := range toyPhases {
		killAfterEach(t, phase.name+"/", i, sampledToyKills, func(t *testing.T, last int) bool {
			w.t = t
			return w.play(phase, fmt.Sprintf("%s-%d", strings.ToLower(phase.name), last), last)
		})
	}
}

func (w *toyEnv) liveFromFirstToLast(name string) {
	w.createNote(name, "first", "one", "two")
	w.await(func() string { return w.told(name, "first", "one", "two") })
	w.changeNote(name, func(note *NotePolicy) { note.Spec.Text = "second" })
	w.await(func() string { return w.told(name, "second", "one", "two") })
	w.deleteNote(name)
	w.await(func() string { return w.gone(name, "one", "two") })
}

func (w *toyEnv) editByHand(name string) {
	w.createNote(name, "ours", "one")
	w.await(func() string { return w.told(name, "ours", "one") })
	w.editNote(name, "one", "theirs")
	w.await(func() string {
		if drift := w.target(name, "one").Status.Drift; drift.Count != 1 || drift.Corrections[0].Manager != "editor" {
			return fmt.Sprintf("the Note tells of %+v", drift)
		}
		return w.told(name, "ours", "one")
	})
}

// editNote lets somebody change what a cluster was told.
func (w *toyEnv) editNote(name, cluster, text string) {
	w.t.Helper()
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"data":{"text":%q}}`, text))
	if err := w.clusters[cluster].Patch(w.t.Context(), config, patch, client.FieldOwner("editor")); err != nil {
		w.t.Fatal(err)
	}
}

func (w *toyEnv) suspend(name string) {
	w.createNote(name, "before", "one")
	w.await(func() string { return w.told(name, "before", "one") })
	w.changeNote(name, func(note *NotePolicy) { note.Spec.Suspend = true })
	w.await(func() string {
		note := w.target(name, "one")
		if !note.Spec.Suspend || targetstate.CurrentCondition(note, metav1alpha1.ConditionReady) == nil {
			return "the Note has not said yet that it is suspended"
		}
		return ""
	})
	w.editNote(name, "one", "theirs")
	w.await(func() string {
		if got := conditionOf(w.target(name, "one"), metav1alpha1.ConditionDrifted); !strings.HasPrefix(got, "True Reported: editor changed") {
			return "Drifted is " + got
		}
		return ""
	})
	if got := w.text(name, "one"); got != "theirs" {
		w.t.Errorf("it was taken back to %q while corrections were suspended", got)
	}
	w.changeNote(name, func(note *NotePolicy) { note.Spec.Suspend = false })
	w.await(func() string { return w.told(name, "before", "one") })
}

func (w *toyEnv) withdraw(name string) {
	w.createNote(name, "text", "one", "two")
	w.await(func() string { return w.told(name, "text", "one", "two") })
	w.changeNote(name, func(note *NotePolicy) { note.Spec.ClusterNames = []string{"one"} })
	w.await(func() string {
		if got := w.text(name, "two"); got != "none" {
			return "two still has " + got
		}
		if w.target(name, "two") != nil {
			return "two still has its Note"
		}
		return w.told(name, "text", "one")
	})
}

func (w *toyEnv) freeze(name string) {
	w.labelCluster("two", labelUrgent)
	w.createNote(name, "before", "one", "two")
	w.await(func() string { return w.told(name, "before", "one", "two") })
	w.changeNote(name, func(note *NotePolicy) {
		metav1.SetMetaDataAnnotation(&note.ObjectMeta, annotationFrozen, "true")
		note.Spec.Text = "after"
	})
	w.await(func() string {
		if one, two := w.text(name, "one"), w.text(name, "two"); one != "before" || two != "after" {
			return fmt.Sprintf("one, which is frozen, has %q, and two, which is urgent, %q", one, two)
		}
		ready := meta.FindStatusCondition(w.note(name).Status.Conditions, metav1alpha1.ConditionReady)
		if ready.Status != metav1.ConditionFalse || ready.Reason != reasonFrozen || !strings.HasPrefix(ready.Message, "frozen in 1 cluster (one); ") {
			return fmt.Sprintf("the NotePolicy is %+v", ready)
		}
		return ""
	})
	w.changeNote(name, func(note *NotePolicy) { delete(note.Annotations, annotationFrozen) })
	w.await(func() string { return w.told(name, "after", "one", "two") })
}

// tellOneClusterSomethingElse gives one cluster a revision that somebody stored for it alone, as an issuer stores a key.
func (w *toyEnv) tellOneClusterSomethingElse(name string) {
	w.createNote(name, "for all", "one", "two")
	w.await(func() string { return w.told(name, "for all", "one", "two") })
	own, err := revision.NewSnapshot(name, []byte("for two alone"))
	if err != nil {
		w.t.Fatal(err)
	}
	owner := revision.Owner{APIVersion: toyGroup.String(), Kind: "NotePolicy", Object: w.note(name)}
	if err := revision.Write(w.t.Context(), w.management, w.management, owner, own); err != nil {
		w.t.Fatal(err)
	}
	w.labelClusterWith("two", labelOwn, own.Name)
	w.await(func() string { return cmp.Or(w.holds(name, "for two alone", "two"), w.holds(name, "for all", "one")) })
	w.editNote(name, "two", "theirs")
	w.await(func() string { return w.holds(name, "for two alone", "two") })
	w.changeNote(name, func(note *NotePolicy) { note.Spec.Text = "for all again" })
	w.await(func() string {
		return cmp.Or(w.holds(name, "for all again", "one"), w.holds(name, "for two alone", "two"))
	})
	w.labelClusterWith("two", labelOwn, "")
	w.await(func() string { return w.told(name, "for all again", "one", "two") })
	w.deleteNote(name)
	w.await(func() string { return w.gone(name, "one", "two") })
}

// holds says how a cluster does not have a text.
func (w *toyEnv) holds(name, text, cluster string) string {
	if got := w.text(name, cluster); got != text {
		return fmt.Sprintf("%s has %q, want %q", cluster, got, text)
	}
	return ""
}

func (w *toyEnv) labelCluster(name, label string) {
	w.t.Helper()
	w.labelClusterWith(name, label, "true")
}

func (w *toyEnv) labelClusterWith(name, label, value string) {
	w.t.Helper()
	cluster := &tenancyv1alpha1.TenantCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, label, value))
	if err := w.management.Patch(w.t.Context(), cluster, patch); err != nil {
		w.t.Fatal(err)
	}
}

func (w *toyEnv) loseACluster(name string) {
	w.createNote(name, "before", "one", "three")
	w.await(func() string { return w.told(name, "before", "one", "three") })
	w.clusters["three"].proxy.sever()
	w.changeNote(name, func(note *NotePolicy) { note.Spec.Text = "after" })
	w.await(func() string {
		if got := conditionOf(w.target(name, "three"), metav1alpha1.ConditionReady); !strings.HasPrefix(got, "Unknown ClusterUnreachable") {
			return "the Note in three is " + got
		}
		note := w.note(name)
		if note.Status.Clusters.Unreachable.Count != 1 || w.text(name, "one") != "after" {
			return fmt.Sprintf("%+v", note.Status.Clusters)
		}
		return ""
	})
	w.clusters["three"].proxy.restore()
	w.await(func() string { return w.told(name, "after", "one", "three") })
	w.deleteNote(name)
	w.await(func() string { return w.gone(name, "one", "three") })
}

func (w *toyEnv) refuse(name string) {
	w.createNote(name, "harmless", "one")
	w.await(func() string { return w.told(name, "harmless", "one") })
	written := w.resourceVersion(name, "one")
	w.changeNote(name, func(note *NotePolicy) { note.Spec.Text = "a secret" })
	w.await(func() string {
		got := conditionOf(w.target(name, "one"), metav1alpha1.ConditionStalled)
		if !strings.HasPrefix(got, "True Refused: ") || !strings.HasSuffix(got, "tells a secret; change spec.text") {
			return "Stalled is " + got
		}
		if failed := w.note(name).Status.Clusters.Failed; failed.Count != 1 {
			return fmt.Sprintf("the NotePolicy tells of %+v failed", failed)
		}
		return ""
	})
	if now := w.resourceVersion(name, "one"); now != written {
		w.t.Errorf("something was written: %s, %s before", now, written)
	}
	w.changeNote(name, func(note *NotePolicy) { note.Spec.Text = "harmless again" })
	w.await(func() string { return w.told(name, "harmless again", "one") })
}

// resourceVersion is that of the ConfigMap in a cluster.
func (w *toyEnv) resourceVersion(name, cluster string) string {
	w.t.Helper()
	config := &corev1.ConfigMap{}
	if err := w.clusters[cluster].Get(w.t.Context(), client.ObjectKey{Namespace: "default", Name: name}, config); err != nil {
		w.t.Fatal(err)
	}
	return config.ResourceVersion
}

func (w *toyEnv) acknowledge(name string) {
	w.createNote(name, "first", "one", "two")
	w.await(func() string { return w.told(name, "first", "one", "two") })
	first, second := w.target(name, "one").Status.Acknowledged, w.target(name, "two").Status.Acknowledged
	if first.Hash != second.Hash {
		w.t.Errorf("the same content has the hashes %s and %s", first.Hash, second.Hash)
	}
	w.changeNote(name, func(note *NotePolicy) { note.Spec.Text = "second" })
	w.await(func() string { return w.told(name, "second", "one", "two") })
	if next := w.target(name, "one").Status.Acknowledged; next.Hash == first.Hash || next.Generation <= first.Generation {
		w.t.Errorf("%+v was read back of other content, and %+v before", next, first)
	}
}
