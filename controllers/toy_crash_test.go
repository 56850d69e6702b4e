package controllers

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// sampledToyKills is how many writes apart two kills are without -all-kills: what is particular to a pair is little.
const sampledToyKills = 3

// toyPhase is something that a manager is killed in.
type toyPhase struct {
	name string
	// before are what the clusters were told before it; empty for no policy.
	before string
	act    func(*toyEnv, string)
	// after are what they are told in the end; empty for no policy.
	after string
}

// toyPhases are those of a pair in two clusters, one of which is first: between the record of a phase and the change of
// targets the manager dies as well.
var toyPhases = []toyPhase{
	{name: "RollOut", act: func(w *toyEnv, name string) { w.createPhased(name, "first") }, after: "first"},
	{name: "Edit", before: "first", act: func(w *toyEnv, name string) {
		w.changeNote(name, func(note *NotePolicy) { note.Spec.Text = "second" })
	}, after: "second"},
	{name: "Deletion", before: "first", act: (*toyEnv).deleteNote},
}

// createPhased makes a NotePolicy that reaches the cluster one first, and then two.
func (w *toyEnv) createPhased(name, text string) {
	w.t.Helper()
	w.createNoteWith(name, text, []string{"one", "two"}, func(note *NotePolicy) {
		metav1.SetMetaDataAnnotation(&note.ObjectMeta, annotationFirst, "one")
	})
}

// ends says how a policy did not come to its end; an empty text is that of a deleted one.
func (w *toyEnv) ends(name, text string) string {
	if text == "" {
		return w.gone(name, "one", "two")
	}
	return w.told(name, text, "one", "two")
}

// play lets one write be the last. It returns whether there was such a write.
func (w *toyEnv) play(p toyPhase, name string, last int) bool {
	w.t.Helper()
	if p.before != "" {
		w.createPhased(name, p.before)
		w.await(func() string { return w.ends(name, p.before) })
	}
	var before string
	if second := w.target(name, "two"); second != nil {
		before = second.Spec.Revision
	}
	blown := w.failpoint.arm(last)
	p.act(w, name)
	blew := w.blows(blown, func() string { return w.ends(name, p.after) })
	if blew {
		w.end()
		w.checkPhase(name, before)
		w.restarted()
	}
	w.await(func() string { return w.ends(name, p.after) })
	return blew
}

// checkPhase makes sure that the manager told the second cluster nothing new before it recorded that the first was done.
func (w *toyEnv) checkPhase(name, before string) {
	w.t.Helper()
	second := w.target(name, "two")
	if second == nil || second.Spec.Revision == before {
		return
	}
	note := w.note(name)
	done := meta.FindStatusCondition(note.Status.Conditions, conditionFirst)
	if done == nil || done.Status != metav1.ConditionTrue || done.Message != second.Spec.Revision {
		w.t.Errorf("two has revision %s, and the record says of one: %+v", second.Spec.Revision, done)
	}
}
