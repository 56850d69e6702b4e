package backupenrollment

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/history"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/starts"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/veleroobjects"
	"github.com/daytwo-dev/daytwo/controllers/internal/conditions"
	"github.com/daytwo-dev/daytwo/controllers/internal/schedule"
	"github.com/daytwo-dev/daytwo/controllers/internal/secretaccess"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
)

// staleAfter is how old Velero's last look at the storage may be: two of its periods, and a minute for clocks that differ.
func staleAfter(frequency time.Duration) time.Duration { return 2*frequency + time.Minute }

// finding is one condition of an enrollment.
type finding struct {
	kind, reason, message string
	status                metav1.ConditionStatus
	// due is when it may differ though nothing happens; zero for never.
	due time.Time
	// stalled: it does not pass by itself.
	stalled bool
}

// Outcome implements target.StagedKind.
func (r *Reconciler) Outcome(o *observation) outcome {
	if o.Extra.purge != nil {
		return o.Extra.purge.outcome()
	}
	result := outcome{Tell: func(status *backupv1alpha1.BackupEnrollmentStatus) { tellDone(o, status) }, Warning: cmp.Or(warningOf(o.Extra.request), catchUpWarning(o.Extra.caughtUp))}
	result.Due = append(o.Extra.deadlines(), o.Extra.minting.wakeAt, o.Extra.catchUpAt, blackoutFinding(o).due)
	if awaitsPassword(o.Problem) {
		result.Due = append(result.Due, o.Now.Add(passwordPatience))
	}
	velero := o.Extra.velero
	switch {
	case o.Status.Velero == nil && o.Extra.arranged != nil && o.IsReachable():
		// What becomes of it is watched from the next reconcile on, which nothing else may bring about.
		result.Due = append(result.Due, o.Now)
		result.Unhealthy = storageNotChecked()
	case secretaccess.Of(o.Problem) != nil:
		tellRecorded(o, "the manager may not read Secrets", &result)
	case velero == nil || !o.IsReachable():
		tellRecorded(o, "the cluster cannot be reached", &result)
	case velero.missing:
		tellRecorded(o, "the cluster does not serve Velero's kinds", &result)
		result.Unhealthy = veleroUnavailable("the cluster does not serve the kinds of %s any more: install Velero again", veleroobjects.GroupVersion)
	case velero.backups.Unknown != "":
		tellRecorded(o, "Backups cannot be watched", &result)
		result.Unhealthy = &target.Verdict{Reason: metav1alpha1.ReasonKindUnavailable, Message: "Backups cannot be watched: " + velero.backups.Unknown}
	case velero.backups.Pending():
		result.Unhealthy, result.Summary = toldBefore(o)
	default:
		tellSeen(o, velero, &result)
	}
	if f := o.Extra.minting.finding(o.Now); result.Unhealthy == nil && f.isProblem() {
		result.Unhealthy = &target.Verdict{Reason: f.reason, Message: f.message, Stalled: f.stalled}
	}
	return result
}

func storageNotChecked() *target.Verdict {
	return &target.Verdict{Reason: backupv1alpha1.ReasonStorageNotChecked, Message: "Velero has not looked at the storage yet"}
}

// toldBefore is what was told last of Velero, as long as the watches have not shown it again.
func toldBefore(o *observation) (unhealthy *target.Verdict, summary string) {
	if meta.FindStatusCondition(o.Status.Conditions, backupv1alpha1.ConditionStorageAvailable) == nil {
		return storageNotChecked(), ""
	}
	for _, kind := range []string{
		backupv1alpha1.ConditionStorageAvailable, backupv1alpha1.ConditionBackupsHealthy, backupv1alpha1.ConditionRPOMet,
		backupv1alpha1.ConditionRecoveryProven, backupv1alpha1.ConditionRTOMet, backupv1alpha1.ConditionBackupsExpire,
	} {
		told := meta.FindStatusCondition(o.Status.Conditions, kind)
		if told != nil && (finding{status: told.Status, reason: told.Reason}).isProblem() {
			stalled := meta.IsStatusConditionTrue(o.Status.Conditions, metav1alpha1.ConditionStalled)
			return &target.Verdict{Reason: told.Reason, Message: told.Message, Stalled: stalled}, ""
		}
	}
	return nil, summaryOf(history.History{Good: o.Status.LastSuccessful}, o.Status.Next)
}

// tellDone tells what was made for Velero.
func tellDone(o *observation, status *backupv1alpha1.BackupEnrollmentStatus) {
	if o.Extra.arranged != nil {
		status.Velero = o.Extra.arranged.DeepCopy()
	}
	tellBlackout(o, status)
	list := conditions.List{Conditions: &status.Conditions, Generation: o.Target.Generation, Now: o.Now}
	if f := o.Extra.minting.finding(o.Now); f.kind != "" {
		list.Set(f.kind, f.status, f.reason, f.message)
	} else {
		list.Remove(backupv1alpha1.ConditionCredentialsRenewed)
	}
	for _, one := range o.Extra.ownBackups() {
		one.record(status)
	}
}

// tellSeen tells what is seen of Velero, and what is wrong with it.
func tellSeen(o *observation, velero *seen, result *outcome) {
	told := o.Extra.retention.Tell(history.Of(velero.backups.Objects, standardOf(o, o.Extra.reading.Known)))
	next := nextStart(o)
	findings := []finding{o.Extra.server.finding(), storageFinding(velero, staleAfter(frequencyOf(o.Status.Velero)), o.Now).withProbe(o.Extra.storage.check), scheduleFinding(velero), backupsFinding(told, velero.backups.Incomplete), rpoFinding(o, told), provenFinding(o), rtoFinding(o), retentionFinding(o.Extra.retention)}
	informative := []finding{coverageFinding(o, told), protectionFinding(o, told)}
	result.Tell = func(status *backupv1alpha1.BackupEnrollmentStatus) {
		tellDone(o, status)
		o.Extra.tellProof(status)
		status.Runs, status.LastSuccessful, status.Next = told.Runs, told.Good, next
		if o.Extra.retention.Extended {
			status.ExtendedAt = ptr.To(metav1.NewTime(o.Now).Rfc3339Copy())
		}
		status.Deletions, status.Storage, status.Server = o.Extra.retention.Told(), o.Extra.storage.check, o.Extra.server.told
		tellFindings(o, status, slices.Concat(findings, informative))
	}
	for _, f := range findings {
		result.Due = append(result.Due, f.due)
		if result.Unhealthy == nil && f.isProblem() {
			result.Unhealthy = &target.Verdict{Reason: f.reason, Message: f.message, Stalled: f.stalled}
		}
	}
	if next != nil {
		result.Due = append(result.Due, next.Time)
	}
	result.Due = append(result.Due, o.Extra.proof.WakeAt, o.Extra.reading.Again, o.Extra.storage.wakeAt, o.Extra.server.wakeAt)
	if frequencyOf(o.Status.Velero) != veleroobjects.ValidateEvery {
		result.Due = append(result.Due, trustedAt(o))
	}
	result.Summary = summaryOf(told, next)
	if now := starts.BlackoutsOf(o.Target).At(o.Now); now.Open {
		result.Summary += "; a blackout is open " + now.String()
	}
}

// tellProof tells what drills showed.
func (e *extra) tellProof(status *backupv1alpha1.BackupEnrollmentStatus) {
	status.LastDrill, status.Evidence = e.proof.last, e.proof.evidence
	if len(e.proof.Due) == 0 || e.drillsMade {
		status.DrillPlans = e.proof.Told
	}
}

// tellFindings as conditions.
func tellFindings(o *observation, status *backupv1alpha1.BackupEnrollmentStatus, findings []finding) {
	list := conditions.List{Conditions: &status.Conditions, Generation: o.Target.Generation, Now: o.Now}
	for _, f := range findings {
		if f.kind != "" {
			list.Set(f.kind, f.status, f.reason, f.message)
		}
	}
}

// isProblem is whether an enrollment is not Ready because of it. That no backup has ended yet is none.
func (f finding) isProblem() bool {
	return f.status == metav1.ConditionFalse || f.reason == backupv1alpha1.ReasonStorageNotChecked
}

// nextStart is when Velero starts the next backup; nil if that is not known.
func nextStart(o *observation) *metav1.Time {
	own := o.Status.Velero
	if o.Extra.arranged != nil {
		own = o.Extra.arranged
	}
	recurrence, refused := schedule.Parse(own.Cron, "")
	if refused != nil {
		return nil
	}
	next, ok := starts.BlackoutsOf(o.Target).NextStart(recurrence, o.Now)
	if !ok {
		return nil
	}
	at := metav1.NewTime(next)
	return &at
}

func storageFinding(velero *seen, stale time.Duration, now time.Time) finding {
	f := finding{kind: backupv1alpha1.ConditionStorageAvailable, status: metav1.ConditionUnknown, reason: backupv1alpha1.ReasonStorageNotChecked}
	var location velerov1.BackupStorageLocation
	if velero.location == nil || runtime.DefaultUnstructuredConverter.FromUnstructured(velero.location.Object, &location) != nil {
		f.message = "the BackupStorageLocation is not seen yet"
		return f
	}
	since := location.CreationTimestamp.Time
	if location.Status.LastValidationTime != nil {
		since = location.Status.LastValidationTime.Time
	}
	f.due = since.Add(stale)
	switch {
	case !now.Before(f.due):
		return finding{
			kind: f.kind, status: metav1.ConditionFalse, reason: backupv1alpha1.ReasonVeleroUnavailable, stalled: true,
			message: fmt.Sprintf("Velero has not looked at BackupStorageLocation %s since %s: see whether its Deployment in namespace %s runs", location.Name, since.UTC().Format(time.RFC3339), location.Namespace),
		}
	case location.Status.Phase == velerov1.BackupStorageLocationPhaseAvailable:
		f.status, f.reason, f.message = metav1.ConditionTrue, metav1alpha1.ReasonSucceeded, "Velero can list the bucket"
	case location.Status.Phase == velerov1.BackupStorageLocationPhaseUnavailable:
		f.status, f.reason, f.stalled = metav1.ConditionFalse, backupv1alpha1.ReasonStorageUnavailable, true
		f.message = "Velero cannot use the storage: " + location.Status.Message
	default:
		f.message = "Velero has not looked at the storage yet"
	}
	return f
}

// scheduleFinding is no condition of its own.
func scheduleFinding(velero *seen) finding {
	var declared velerov1.Schedule
	if velero.schedule == nil || runtime.DefaultUnstructuredConverter.FromUnstructured(velero.schedule.Object, &declared) != nil {
		return finding{}
	}
	if declared.Status.Phase != velerov1.SchedulePhaseFailedValidation || len(declared.Status.ValidationErrors) == 0 {
		return finding{}
	}
	return finding{
		status: metav1.ConditionFalse, reason: backupv1alpha1.ReasonScheduleInvalid, stalled: true,
		message: "Velero refuses Schedule " + declared.Name + ": " + declared.Status.ValidationErrors[0],
	}
}

func backupsFinding(told history.History, incomplete bool) finding {
	f := finding{kind: backupv1alpha1.ConditionBackupsHealthy}
	switch last := told.Ended; {
	case incomplete:
		f.status, f.reason = metav1.ConditionUnknown, backupv1alpha1.ReasonTooManyBackups
		f.message = fmt.Sprintf("the cluster has more than %d backups of this policy, or very large ones: delete some with velero backup delete, or shorten spec.retention.ttl", maxBackups)
	case told.IsUnread():
		f.status, f.reason = metav1.ConditionUnknown, backupv1alpha1.ReasonDetailsUnknown
		f.message = fmt.Sprintf("whether backup %s has all volumes is not known: %s", told.Unread.Name, cmp.Or(told.Unread.DetailsProblem, "the bucket is being read"))
	case last == nil:
		f.status, f.reason, f.message = metav1.ConditionUnknown, backupv1alpha1.ReasonNoBackup, "no backup has ended yet"
	case last.Problem != "":
		f.status, f.reason, f.stalled = metav1.ConditionFalse, backupv1alpha1.ReasonBackupFailed, true
		f.message = fmt.Sprintf("backup %s (%s): %s", last.Name, last.Phase, last.Problem)
	default:
		f.status, f.reason, f.message = metav1.ConditionTrue, backupv1alpha1.ReasonBackupsSucceed, history.Describe(last)
	}
	return f
}

// rpoFinding measures the age of the data that a recovery would bring back; before there is any, since the enrollment.
func rpoFinding(o *observation, told history.History) finding {
	f := finding{kind: backupv1alpha1.ConditionRPOMet}
	objective := o.Target.Spec.Objectives.RPO
	if objective == nil {
		f.status, f.reason, f.message = metav1.ConditionUnknown, backupv1alpha1.ReasonNoObjective, "the policy sets no spec.objectives.rpo"
		return f
	}
	since, what := o.Target.CreationTimestamp.Time, "there is no good backup"
	if told.Good != nil {
		since, what = told.Good.StartedAt.Time, "the last good backup is of "+told.Good.StartedAt.UTC().Format(time.RFC3339)
	}
	f.due = since.Add(objective.Duration)
	switch {
	case !o.Now.Before(f.due) && told.Unseen != "":
		f.status, f.reason, f.due = metav1.ConditionUnknown, backupv1alpha1.ReasonBackupsNotSeen, time.Time{}
		f.message = fmt.Sprintf("%s as far as is known, and the data may be %s old; later backups are not seen: %s", what, objective.Duration, told.Unseen)
	case !o.Now.Before(f.due):
		f.status, f.reason, f.stalled, f.due = metav1.ConditionFalse, backupv1alpha1.ReasonRPOMissed, true, time.Time{}
		f.message = fmt.Sprintf("%s, and the data may be %s old", what, objective.Duration)
	case told.Good == nil:
		f.status, f.reason, f.message = metav1.ConditionUnknown, backupv1alpha1.ReasonNoBackup, what+" yet"
	default:
		f.status, f.reason, f.message = metav1.ConditionTrue, metav1alpha1.ReasonSucceeded, what
	}
	return f
}

func summaryOf(told history.History, next *metav1.Time) string {
	summary := "no backup yet"
	if told.Good != nil {
		summary = "last good backup " + history.Describe(told.Good)
	}
	if next != nil {
		summary += "; next " + next.UTC().Format(time.RFC3339)
	}
	return summary
}
