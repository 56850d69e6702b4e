package addonrelease

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/brief"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
)

// What the status keeps of corrections: how many, and how much of a field's name and a manager's, in bytes. Both names are
// from the workload cluster. An API server that keeps to the rules allows 128 bytes for a manager; the mark of a name that
// was cut takes three.
const (
	maxCorrections = 10
	maxField       = 500
	maxManager     = 125
)

// Operations of a drift, beside those of managedFields (Update, Apply).
const (
	operationDelete  = "Delete"
	operationUnlabel = "Unlabel"
)

// corrections are the writes that took something back. One after which everybody owns what they owned
// before was none: the manager was killed before it recorded its own write, or the change was to a
// field that others may set.
func (o outcome) corrections() []written {
	var corrections []written
	for _, w := range append(slices.Clip(o.written), o.takenBack...) {
		if w.result != nil && w.purpose == correct && (w.seen.Gone || w.contested || w.fingerprint != w.seen.Fingerprint) {
			corrections = append(corrections, w)
		}
	}
	return corrections
}

func reportDrift(next *addonsv1alpha1.AddonReleaseStatus, o observed, p plan, done outcome) {
	for _, w := range done.corrections() {
		next.Drift.Count++
		seen, at := metav1.NewMicroTime(w.seen.At), metav1.NewMicroTime(w.at)
		next.Drift.LastDetected, next.Drift.LastCorrected = &seen, &at
		next.Drift.Corrections = append([]addonsv1alpha1.DriftCorrection{describe(w, o.rules)}, next.Drift.Corrections...)
	}
	if len(next.Drift.Corrections) > maxCorrections {
		next.Drift.Corrections = next.Drift.Corrections[:maxCorrections]
	}
	next.Drift.Tolerated = done.tolerated
	switch {
	case o.driftMode() == addonsv1alpha1.DriftOff:
		set(next, o, addonsv1alpha1.ConditionDrifted, metav1.ConditionFalse, addonsv1alpha1.ReasonIgnored, "drift is not looked for (spec.drift.mode is Off)")
	case len(p.held) > 0:
		set(next, o, addonsv1alpha1.ConditionDrifted, metav1.ConditionTrue, addonsv1alpha1.ReasonFighting, fightMessage(o, p))
	case o.recordDrifted && len(done.takenBack) == 0 && len(p.reported) == 0:
		set(next, o, addonsv1alpha1.ConditionDrifted, metav1.ConditionTrue, addonsv1alpha1.ReasonReported,
			"somebody used Helm on the release; its record is left as it is")
	case len(p.reported) > 0:
		next.Drift.LastDetected = latest(p.reported)
		set(next, o, addonsv1alpha1.ConditionDrifted, metav1.ConditionTrue, addonsv1alpha1.ReasonReported, reportedMessage(p.reported))
	case len(o.unknown) > 0:
		set(next, o, addonsv1alpha1.ConditionDrifted, metav1.ConditionUnknown, addonsv1alpha1.ReasonKindUnavailable, o.unknownKinds())
	default:
		set(next, o, addonsv1alpha1.ConditionDrifted, metav1.ConditionFalse, addonsv1alpha1.ReasonInSync, "nobody changed anything")
	}
}

func latest(writes []write) *metav1.MicroTime {
	var at time.Time
	for _, w := range writes {
		if w.seen.At.After(at) {
			at = w.seen.At
		}
	}
	result := metav1.NewMicroTime(at)
	return &result
}

func fightMessage(o observed, p plan) string {
	w := p.held[0]
	f := o.fights[w.Key()]
	who := w.culprit.manager
	if who == "" {
		who = f.manager
	}
	return fmt.Sprintf("%s keeps changing %s; it was taken back %d times, next at %s; stop it, or list the field in spec.drift.ignore",
		orSomebody(who), w.Ref, f.rounds, f.ready().UTC().Format(time.TimeOnly))
}

func reportedMessage(reported []write) string {
	w := reported[0]
	b := w.culprit
	message := fmt.Sprintf("%s changed %s", orSomebody(b.manager), w.Ref)
	if len(b.fields) > 0 {
		message += " " + b.fields[0]
	}
	if more := len(reported) - 1; more > 0 {
		message += fmt.Sprintf(", and %d more objects were changed", more)
	}
	return message + "; it is left as it is"
}

func orSomebody(manager string) string {
	if manager == "" {
		return "somebody"
	}
	return manager
}

func describe(w written, rules managedfields.Rules) addonsv1alpha1.DriftCorrection {
	b := w.culprit
	correction := addonsv1alpha1.DriftCorrection{
		Object: w.ID(), Fields: b.fields, Manager: brief.Cut(b.manager, maxManager), Operation: brief.Cut(b.operation, maxManager), Changed: b.at,
		Corrected: metav1.NewMicroTime(w.at),
	}
	switch {
	case w.seen.Gone && w.result.UID == w.entry.uid:
		correction.Operation = operationUnlabel
	case w.seen.Gone:
		correction.Operation = operationDelete
	case len(b.fields) == 0:
		correction.Fields = lostFields(w, rules)
	}
	correction.Fields = slices.Clone(correction.Fields)
	for i, field := range correction.Fields {
		correction.Fields[i] = brief.Cut(field, maxField)
	}
	return correction
}

// culprit is who changed an object, what of it, how and when.
type culprit struct {
	manager   string
	operation string
	fields    []string
	at        *metav1.Time
}

// blame reads from managedFields who it was: the latest of the foreign entries, or else a person who
// scaled. Nothing tells who removed a field that was ours alone, or the whole object.
func blame(seen *fleet.Seen, subject managedfields.Subject, rules managedfields.Rules) culprit {
	if seen == nil || seen.Object == nil {
		return culprit{}
	}
	var last *managedfields.Change
	suspects := rules.Foreign(seen.Object, subject)
	for i := range suspects {
		if last == nil || last.Time.Before(suspects[i].Time) {
			last = &suspects[i]
		}
	}
	if last != nil {
		return culpritOf(&last.ManagedFieldsEntry, last.Fields)
	}
	scaler, excused := rules.Scaler(seen.Object.ManagedFields)
	if scaler == nil || excused {
		return culprit{}
	}
	fields, err := managedfields.Fields(scaler)
	if err != nil {
		fields = nil
	}
	return culpritOf(scaler, fields)
}

// culpritOf names the author of an entry, and what of it is drift; no fields where the entry cannot be read.
func culpritOf(entry *metav1.ManagedFieldsEntry, fields *fieldpath.Set) culprit {
	found := culprit{manager: entry.Manager, operation: string(entry.Operation), at: entry.Time}
	if fields != nil {
		found.fields = managedfields.Names(fields)
	}
	return found
}

// lostFields are what our entry lacked before the correction, and has again.
func lostFields(w written, rules managedfields.Rules) []string {
	if w.seen.Object == nil {
		return nil
	}
	before, err := rules.OwnFields(w.seen.Object.ManagedFields)
	if err != nil {
		return nil
	}
	after, err := rules.OwnFields(w.result.ManagedFields)
	if err != nil {
		return nil
	}
	return managedfields.Names(after.Difference(before))
}
