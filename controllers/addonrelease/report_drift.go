package addonrelease

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/brief"
	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
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

func reportDrift(next *addonsv1alpha1.AddonReleaseStatus, o observation, p plan, done result, tolerated []addonsv1alpha1.ToleratedManager) {
	for _, w := range done.corrections() {
		next.Drift.Count++
		seen, at := metav1.NewMicroTime(w.Seen.At), metav1.NewMicroTime(w.At)
		next.Drift.LastDetected, next.Drift.LastCorrected = &seen, &at
		next.Drift.Corrections = append([]addonsv1alpha1.DriftCorrection{describe(w, o.Rules)}, next.Drift.Corrections...)
	}
	if len(next.Drift.Corrections) > maxCorrections {
		next.Drift.Corrections = next.Drift.Corrections[:maxCorrections]
	}
	next.Drift.Tolerated = tolerated
	switch {
	case o.driftMode() == apply.Off:
		set(next, o, addonsv1alpha1.ConditionDrifted, metav1.ConditionFalse, addonsv1alpha1.ReasonIgnored, "drift is not looked for (spec.drift.mode is Off)")
	case len(p.Held) > 0:
		set(next, o, addonsv1alpha1.ConditionDrifted, metav1.ConditionTrue, addonsv1alpha1.ReasonFighting, fightMessage(o, p))
	case o.helm.RecordDrifted && len(done.helm.Reverted) == 0 && len(p.Reported) == 0:
		set(next, o, addonsv1alpha1.ConditionDrifted, metav1.ConditionTrue, addonsv1alpha1.ReasonReported,
			"somebody used Helm on the release; its record is left as it is")
	case len(p.Reported) > 0:
		next.Drift.LastDetected = latest(p.Reported)
		set(next, o, addonsv1alpha1.ConditionDrifted, metav1.ConditionTrue, addonsv1alpha1.ReasonReported, reportedMessage(p.Reported))
	case len(o.Unknown) > 0:
		set(next, o, addonsv1alpha1.ConditionDrifted, metav1.ConditionUnknown, addonsv1alpha1.ReasonKindUnavailable, o.UnknownKinds())
	default:
		set(next, o, addonsv1alpha1.ConditionDrifted, metav1.ConditionFalse, addonsv1alpha1.ReasonInSync, "nobody changed anything")
	}
}

func latest(writes []apply.Write) *metav1.MicroTime {
	var at time.Time
	for _, w := range writes {
		if w.Seen.At.After(at) {
			at = w.Seen.At
		}
	}
	result := metav1.NewMicroTime(at)
	return &result
}

func fightMessage(o observation, p plan) string {
	w := p.Held[0]
	f := o.Contentions[w.Key()]
	who := w.Actor.Manager
	if who == "" {
		who = f.Manager
	}
	return fmt.Sprintf("%s keeps changing %s; it was taken back %d times, next at %s; stop it, or list the field in spec.drift.ignore",
		orSomebody(who), w.Ref, f.Count, f.Ready().UTC().Format(time.TimeOnly))
}

func reportedMessage(reported []apply.Write) string {
	w := reported[0]
	b := w.Actor
	message := fmt.Sprintf("%s changed %s", orSomebody(b.Manager), w.Ref)
	if len(b.Fields) > 0 {
		message += " " + b.Fields[0]
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

func describe(w apply.Written, rules managedfields.Rules) addonsv1alpha1.DriftCorrection {
	b := w.Actor
	correction := addonsv1alpha1.DriftCorrection{
		Object: w.ID(), Fields: b.Fields, Manager: brief.Cut(b.Manager, maxManager), Operation: brief.Cut(b.Operation, maxManager), Changed: b.At,
		Corrected: metav1.NewMicroTime(w.At),
	}
	switch {
	case w.Seen.Gone && w.Result.UID == w.Entry.UID:
		correction.Operation = operationUnlabel
	case w.Seen.Gone:
		correction.Operation = operationDelete
	case len(b.Fields) == 0:
		correction.Fields = apply.LostFields(w, rules)
	}
	correction.Fields = slices.Clone(correction.Fields)
	for i, field := range correction.Fields {
		correction.Fields[i] = brief.Cut(field, maxField)
	}
	return correction
}
