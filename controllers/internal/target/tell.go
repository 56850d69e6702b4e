package target

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/plural"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/tombstones"
	"github.com/daytwo-dev/daytwo/controllers/internal/truncate"
)

// Events: reasons and actions.
const (
	eventDriftCorrected = "DriftCorrected"
	eventAbandoned      = "Abandoned"
	eventOrphaned       = "Orphaned"
	eventLeftBehind     = "LeftBehind"
	eventRemovedAgain   = "RemovedAgain"

	actionCorrect = "Correct"
	actionDelete  = "Delete"
)

// Tell tells people by events, and the metrics, what became of a target's objects, and remembers what the next reconcile
// needs to know of that. Status is the new one.
func (r *Reconciler[T, S, M]) Tell(target T, status *metav1alpha1.TargetStatus, f Findings, known *Known[T, S, M]) {
	known.Objects.Take(f.Observation.Observation, f.Result, f.Corrections)
	known.series = seriesOf(r.Kind.Name(), target)
	r.Metrics.setReady(known.series, status.Conditions)
	r.countReported(target, f, known)
	cluster := ClusterKey(target)
	for _, w := range f.Corrections {
		r.Metrics.corrected(target, w)
		correction := correctionOf(w, f.Observation.Rules)
		r.Recorder.Eventf(target, nil, corev1.EventTypeWarning, eventDriftCorrected, actionCorrect, "%s changed %s in %s (%s): taken back %s after it was seen",
			orSomebody(correction.Manager), w.Ref, cluster.Name, changes(correction), w.Took.Round(time.Microsecond*100))
		r.Log.Info("drift corrected", "cluster", cluster.String(), "object", w.ID(), "manager", correction.Manager,
			"operation", correction.Operation, "fields", correction.Fields, "took", w.Took.String())
	}
	for _, left := range f.Result.Left {
		r.Recorder.Eventf(target, nil, corev1.EventTypeNormal, eventLeftBehind, actionDelete, "%s stays in %s: %s", left.Ref, cluster.Name, left.Because)
	}
	if again := tombstones.Among(f.Observation.Returned, f.Result.Gone); len(again) > 0 {
		r.Recorder.Eventf(target, nil, corev1.EventTypeNormal, eventRemovedAgain, actionDelete, "%s removed again that a snapshot had brought back to %s: %s",
			plural.Of(len(again), "object|was|were"), cluster.Name, truncate.Cut(apply.Names(again), maxNamesTold))
	}
}

// countReported counts drift that is left in place, once however often it is looked at.
func (r *Reconciler[T, S, M]) countReported(target T, f Findings, known *Known[T, S, M]) {
	before := known.reported
	known.reported = make(map[objects.Key]string, len(f.Plan.Reported))
	for _, w := range f.Plan.Reported {
		shown := w.Seen.Fingerprint
		if counted, again := before[w.Key()]; !again || counted != shown {
			r.Metrics.noticed(target, w.Actor)
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
