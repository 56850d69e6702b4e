package addonrelease

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
)

// Events: types, reasons and actions.
const (
	eventNormal  = corev1.EventTypeNormal
	eventWarning = corev1.EventTypeWarning

	eventDriftCorrected = "DriftCorrected"
	eventLeftBehind     = "LeftBehind"
	eventAbandoned      = "Abandoned"
	eventOrphaned       = "Orphaned"
	eventWithoutHooks   = "UninstalledWithoutHooks"

	actionCorrect = "Correct"
	actionDelete  = "Delete"
)

// announce tells people, by events, and metrics what was done.
func (r *Reconciler) announce(o observation, done result) {
	release := o.release
	for _, w := range done.corrections() {
		r.Metrics.Corrected(release, w)
		correction := target.Correction(w, r.Rules)
		r.Recorder.Eventf(release, nil, eventWarning, eventDriftCorrected, actionCorrect, "%s changed %s in %s (%s): taken back %s after it was seen",
			target.OrSomebody(correction.Manager), w.Ref, release.Spec.ClusterRef.Name, changes(correction), w.Took.Round(time.Microsecond*100))
		r.Log.Info("drift corrected", "cluster", target.ClusterKey(release).String(), "object", w.ID(), "manager", correction.Manager,
			"operation", correction.Operation, "fields", correction.Fields, "took", w.Took.String())
	}
	if why := o.whyWithoutHooks(); why != "" && done.helm.Purged {
		r.Recorder.Eventf(release, nil, eventWarning, eventWithoutHooks, actionDelete, "uninstalled in %s without its hooks: %s", release.Spec.ClusterRef.Name, why)
	}
	for _, left := range done.Left {
		r.Recorder.Eventf(release, nil, eventNormal, eventLeftBehind, actionDelete, "%s stays in %s: %s", left.Ref, release.Spec.ClusterRef.Name, left.Because)
	}
}

// whyWithoutHooks says why a release ends without its hooks; empty if it does not.
func (o observation) whyWithoutHooks() string {
	switch {
	case o.helm.Unrendered != nil:
		return o.helm.Unrendered.Error()
	case skipsDeleteHooks(o.release):
		return "the annotation " + metav1alpha1.AnnotationSkipDeleteHooks + " asks for it"
	}
	return ""
}

// countReported counts drift that is left in place, once however often it is looked at.
func (r *Reconciler) countReported(release *addonsv1alpha1.AddonRelease, p plan, known *remembered) {
	before := known.reported
	known.reported = make(map[objects.Key]string, len(p.Reported))
	for _, w := range p.Reported {
		shown := w.Seen.Fingerprint
		if counted, again := before[w.Key()]; !again || counted != shown {
			r.Metrics.Noticed(release, w.Actor)
		}
		known.reported[w.Key()] = shown
	}
}

func changes(correction metav1alpha1.DriftCorrection) string {
	if len(correction.Fields) == 0 {
		return correction.Operation
	}
	return correction.Operation + " " + strings.Join(correction.Fields, ", ")
}
