package backupenrollment

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/retention"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
	"github.com/daytwo-dev/daytwo/controllers/internal/times"
)

// retentionOf decides about the backups that the cluster shows. Nothing is deleted while work is held off, or while Velero
// cannot use the storage and would fail.
func retentionOf(o *observation) retention.Plan {
	own, velero := o.Status.Velero, o.Extra.velero
	if own == nil || own.TTL == nil || velero == nil || velero.missing || velero.backups.Unknown != "" || velero.backups.Pending() {
		return retention.Plan{}
	}
	r := storedOf(o).Plan()
	var again time.Time
	r.Extend, again = retention.PlanExtensions(r.Keeping, o.Status.ExtendedAt, o.Now)
	r.WakeAt = times.Earliest(r.WakeAt, again)
	if velero.deletions.Unknown != "" {
		r.Unknown = "DeleteBackupRequests cannot be watched: " + velero.deletions.Unknown
	}
	if o.Suspension.Active {
		r.Extend = nil
	}
	if o.Suspension.Active || velero.deletions.Pending() || r.Unknown != "" || !isAvailable(velero) {
		r.Due = nil
	}
	return r
}

// retentionFinding is whether what is to be deleted can be.
func retentionFinding(r retention.Plan) finding {
	f := finding{kind: backupv1alpha1.ConditionBackupsExpire, due: r.WakeAt}
	switch {
	case r.TTL == 0:
		return finding{}
	case r.Unknown != "":
		f.status, f.reason, f.message = metav1.ConditionUnknown, metav1alpha1.ReasonKindUnavailable, r.Unknown
	case r.Failed > 0:
		f.status, f.reason, f.stalled = metav1.ConditionFalse, backupv1alpha1.ReasonDeletionFailed, true
		f.message = fmt.Sprintf("%s; %d of %d backups whose time is over could not be deleted; Velero is asked again, at once with the annotation %s",
			r.Problem, r.Failed, r.Remaining, metav1alpha1.AnnotationRequestedAt)
	case r.Remaining > 0:
		f.status, f.reason, f.message = metav1.ConditionTrue, metav1alpha1.ReasonProgressing, fmt.Sprintf("%d backups whose time is over are being deleted", r.Remaining)
	default:
		f.status, f.reason, f.message = metav1.ConditionTrue, metav1alpha1.ReasonSucceeded, "no backup is there whose time is over"
	}
	return f
}

// storedOf an enrollment. Who asks for a try now need not wait for the next one.
func storedOf(o *observation) retention.Stored {
	velero := o.Extra.velero
	s := retention.Stored{
		Own: o.Status.Velero, Backups: velero.backups.Objects, Requests: velero.deletions.Objects, Restored: o.Extra.proof.restored,
		Standard: standardOf(o, o.Extra.reading.Known), Now: o.Now, RetryBy: o.Now,
	}
	if o.IsRequested(target.Status{TargetStatus: &o.Status.TargetStatus}) {
		s.RetryBy = o.Now.Add(retention.MaxRetryDeletion)
	}
	return s
}
