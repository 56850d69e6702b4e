package target

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
	"github.com/daytwo-dev/daytwo/controllers/internal/plural"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
	"github.com/daytwo-dev/daytwo/controllers/internal/truncate"
)

// What the status keeps of corrections: how many, and how much of a field's name and a manager's, in bytes. Both names are
// from the workload cluster. An API server that keeps to the rules allows 128 bytes for a manager.
const (
	maxCorrections = 10
	maxField       = 500
	maxManager     = 128
)

// Operations of a drift, beside those of managedFields (Update, Apply).
const (
	operationDelete  = "Delete"
	operationUnlabel = "Unlabel"
)

// untold are corrections of which no status tells yet, since it could not be written.
type untold struct {
	// latest of them, the newest last; earlier is how many came before.
	latest  []apply.Written
	earlier int64
}

// and adds what was corrected since.
func (u untold) and(corrections []apply.Written) untold {
	all := slices.Concat(u.latest, corrections)
	surplus := max(len(all)-maxCorrections, 0)
	return untold{latest: all[surplus:], earlier: u.earlier + int64(surplus)}
}

// unlessIn forgets those that a status tells of: it was written, and only the answer to that was lost.
func (u untold) unlessIn(drift metav1alpha1.DriftStatus) untold {
	if len(u.latest) == 0 {
		return untold{}
	}
	last := u.latest[len(u.latest)-1]
	if slices.ContainsFunc(drift.Corrections, func(c metav1alpha1.DriftCorrection) bool {
		return c.Object == last.ID() && c.Corrected.UnixMicro() == last.At.UnixMicro()
	}) {
		return untold{}
	}
	return u
}

func reportDrift(next Status, f Findings) {
	o, p := f.Observation, f.Plan
	next.Drift.Count += o.untold.earlier
	for _, w := range slices.Concat(o.untold.latest, f.Corrections) {
		next.Drift.Count++
		seen, at := metav1.NewMicroTime(w.Seen.At), metav1.NewMicroTime(w.At)
		next.Drift.LastDetected, next.Drift.LastCorrected = &seen, &at
		next.Drift.Corrections = append([]metav1alpha1.DriftCorrection{correctionOf(w, o.Rules)}, next.Drift.Corrections...)
	}
	if len(next.Drift.Corrections) > maxCorrections {
		next.Drift.Corrections = next.Drift.Corrections[:maxCorrections]
	}
	next.Drift.Tolerated = f.Shown.tolerated
	switch {
	case o.DriftSettings().Mode == apply.Off:
		next.set(o, metav1alpha1.ConditionDrifted, metav1.ConditionFalse, metav1alpha1.ReasonIgnored, "drift is not looked for (spec.drift.mode is Off)")
	case len(p.Held) > 0:
		next.set(o, metav1alpha1.ConditionDrifted, metav1.ConditionTrue, metav1alpha1.ReasonContested, contentionMessage(o, p))
	case f.LeftChanged != "" && len(p.Reported) == 0:
		next.set(o, metav1alpha1.ConditionDrifted, metav1.ConditionTrue, metav1alpha1.ReasonReported, f.LeftChanged)
	case len(p.Reported) > 0:
		next.Drift.LastDetected = latest(p.Reported)
		next.set(o, metav1alpha1.ConditionDrifted, metav1.ConditionTrue, metav1alpha1.ReasonReported, reportedMessage(p.Reported))
	case len(o.Unknown) > 0:
		next.set(o, metav1alpha1.ConditionDrifted, metav1.ConditionUnknown, metav1alpha1.ReasonKindUnavailable, o.UnknownKinds())
	default:
		next.set(o, metav1alpha1.ConditionDrifted, metav1.ConditionFalse, metav1alpha1.ReasonInSync, "nobody changed anything")
	}
}

func latest(writes []apply.Write) *metav1.MicroTime {
	last := slices.MaxFunc(writes, func(a, b apply.Write) int { return a.Seen.At.Compare(b.Seen.At) })
	return new(metav1.NewMicroTime(last.Seen.At))
}

func contentionMessage(o Observation, p apply.Plan) string {
	w := p.Held[0]
	f := o.Contentions[w.Key()]
	who := w.Actor.Manager
	if who == "" {
		who = f.Manager
	}
	return fmt.Sprintf("%s keeps changing %s; it was taken back %s, next at %s; stop it, or list the field in spec.drift.ignore",
		orSomebody(who), w.Ref, plural.Of(f.Count, "time"), f.Ready().UTC().Format(time.TimeOnly))
}

func reportedMessage(reported []apply.Write) string {
	w := reported[0]
	b := w.Actor
	message := fmt.Sprintf("%s changed %s", orSomebody(b.Manager), w.Ref)
	if len(b.Fields) > 0 {
		message += " " + b.Fields[0]
	}
	if more := len(reported) - 1; more > 0 {
		message += fmt.Sprintf(", and %d more", more)
	}
	return message + "; it is left as it is"
}

// orSomebody names a field manager for people.
func orSomebody(manager string) string {
	if manager == "" {
		return "somebody"
	}
	return manager
}

// correctionOf tells of a write that took something back.
func correctionOf(w apply.Written, rules managedfields.Rules) metav1alpha1.DriftCorrection {
	b := w.Actor
	correction := metav1alpha1.DriftCorrection{
		Object: w.ID(), Fields: b.Fields, Manager: truncate.Cut(b.Manager, maxManager), Operation: truncate.Cut(b.Operation, maxManager), Changed: b.At,
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
		correction.Fields[i] = truncate.Cut(field, maxField)
	}
	return correction
}
