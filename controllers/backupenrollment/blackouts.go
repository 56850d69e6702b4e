package backupenrollment

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/starts"
	"github.com/daytwo-dev/daytwo/controllers/internal/conditions"
)

// needsPause is whether the Schedule is not as the blackouts ask for.
func needsPause(o *observation) bool {
	now := starts.BlackoutsOf(o.Target).At(o.Now)
	if now.Open != isPaused(o) {
		return true
	}
	skipped := o.Status.Velero.SkippedUntil
	return now.Open && (skipped == nil || skipped.Time.Before(o.Now))
}

// isPaused is whether the Schedule is paused: as the cluster shows it, or as it was seen last.
func isPaused(o *observation) bool {
	if velero := o.Extra.velero; velero != nil && velero.schedule != nil && o.IsReachable() {
		paused, _, _ := unstructured.NestedBool(velero.schedule.Object, "spec", "paused")
		return paused
	}
	return o.Status.Velero != nil && o.Status.Velero.Paused
}

// blackoutFinding is no reason for an enrollment not to be Ready. It is empty if no blackout ever comes.
func blackoutFinding(o *observation) finding {
	now, paused := starts.BlackoutsOf(o.Target).At(o.Now), isPaused(o)
	f := finding{kind: backupv1alpha1.ConditionInBlackout, status: metav1.ConditionUnknown, due: now.ChangesAt()}
	switch why := whyNotWritten(o); {
	case now.Open && paused:
		f.status, f.reason, f.message = metav1.ConditionTrue, backupv1alpha1.ReasonBlackoutOpen, now.String()
	case now.Open && why == "":
		f.reason, f.message = metav1alpha1.ReasonProgressing, fmt.Sprintf("a blackout is open (%s), and the Schedule is about to be paused", now)
	case now.Open:
		f.reason, f.message = backupv1alpha1.ReasonBlackoutNotSet, fmt.Sprintf("a blackout is open (%s), and could not be set: %s", now, why)
	case paused && why == "":
		f.reason, f.message = metav1alpha1.ReasonProgressing, "the blackout has ended, and the Schedule is about to be resumed"
	case paused:
		f.reason, f.message = backupv1alpha1.ReasonBlackoutNotLifted, "the blackout has ended, and the Schedule is still paused: "+why
	case now.Next.IsZero():
		return finding{}
	default:
		f.status, f.reason = metav1.ConditionFalse, backupv1alpha1.ReasonNoBlackout
		f.message = "the next blackout opens at " + now.Next.UTC().Format(time.RFC3339)
	}
	return f
}

// tellBlackout tells of the blackouts, also while the cluster does not answer.
func tellBlackout(o *observation, status *backupv1alpha1.BackupEnrollmentStatus) {
	if status.Velero != nil {
		status.Velero.Paused = isPaused(o)
	}
	f := blackoutFinding(o)
	list := conditions.List{Conditions: &status.Conditions, Generation: o.Target.Generation, Now: o.Now}
	if f.kind == "" {
		list.Remove(backupv1alpha1.ConditionInBlackout)
		return
	}
	list.Set(f.kind, f.status, f.reason, f.message)
}

// whyNotWritten is why nothing is written to the cluster now; empty if nothing is in the way.
func whyNotWritten(o *observation) string {
	switch {
	case o.Unreachable != "":
		return o.Unreachable
	case o.Problem != nil:
		return o.Problem.Error()
	case o.Suspension.Active:
		return o.Suspension.String()
	}
	return ""
}
