package addonrelease

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/brief"
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
func corrections(writes []written) []written {
	var corrections []written
	for _, w := range writes {
		if w.result != nil && w.purpose == correct && (w.seen.Gone || w.contested || w.fingerprint != w.seen.Fingerprint) {
			corrections = append(corrections, w)
		}
	}
	return corrections
}

func reportDrift(next *addonsv1alpha1.AddonReleaseStatus, o observation, p plan, done result, tolerated []addonsv1alpha1.ToleratedManager) {
	for _, w := range done.corrections() {
		next.Drift.Count++
		seen, at := metav1.NewMicroTime(w.seen.At), metav1.NewMicroTime(w.at)
		next.Drift.LastDetected, next.Drift.LastCorrected = &seen, &at
		next.Drift.Corrections = append([]addonsv1alpha1.DriftCorrection{describe(w, o.rules)}, next.Drift.Corrections...)
	}
	if len(next.Drift.Corrections) > maxCorrections {
		next.Drift.Corrections = next.Drift.Corrections[:maxCorrections]
	}
	next.Drift.Tolerated = tolerated
	switch {
	case o.driftMode() == driftOff:
		set(next, o, addonsv1alpha1.ConditionDrifted, metav1.ConditionFalse, addonsv1alpha1.ReasonIgnored, "drift is not looked for (spec.drift.mode is Off)")
	case len(p.held) > 0:
		set(next, o, addonsv1alpha1.ConditionDrifted, metav1.ConditionTrue, addonsv1alpha1.ReasonFighting, fightMessage(o, p))
	case o.helm.recordDrifted && len(done.helm.reverted) == 0 && len(p.reported) == 0:
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

func fightMessage(o observation, p plan) string {
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
