package backupenrollment

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
	"github.com/daytwo-dev/daytwo/controllers/internal/times"
)

// retentionOf decides about the backups that the cluster shows. Nothing is deleted while work is held off, or while Velero
// cannot use the storage and would fail.
func retentionOf(o *observation) retention {
	own, velero := o.Status.Velero, o.Extra.velero
	if own == nil || own.TTL == nil || velero == nil || velero.missing || velero.backups.Unknown != "" || velero.backups.Pending() {
		return retention{}
	}
	r := storedOf(o).planRetention()
	var again time.Time
	r.extend, again = planExtensions(r.keeping, o.Status.ExtendedAt, o.Now)
	r.wakeAt = times.Earliest(r.wakeAt, again)
	if velero.deletions.Unknown != "" {
		r.unknown = "DeleteBackupRequests cannot be watched: " + velero.deletions.Unknown
	}
	if o.Suspension.Active {
		r.extend = nil
	}
	if o.Suspension.Active || velero.deletions.Pending() || r.unknown != "" || !isAvailable(velero) {
		r.due = nil
	}
	return r
}

// retentionFinding is whether what is to be deleted can be.
func retentionFinding(r retention) finding {
	f := finding{kind: backupv1alpha1.ConditionBackupsExpire, due: r.wakeAt}
	switch {
	case r.ttl == 0:
		return finding{}
	case r.unknown != "":
		f.status, f.reason, f.message = metav1.ConditionUnknown, metav1alpha1.ReasonKindUnavailable, r.unknown
	case r.failed > 0:
		f.status, f.reason, f.stalled = metav1.ConditionFalse, backupv1alpha1.ReasonDeletionFailed, true
		f.message = fmt.Sprintf("%s; %d of %d backups whose time is over could not be deleted; Velero is asked again, at once with the annotation %s",
			r.problem, r.failed, r.remaining, metav1alpha1.AnnotationRequestedAt)
	case r.remaining > 0:
		f.status, f.reason, f.message = metav1.ConditionTrue, metav1alpha1.ReasonProgressing, fmt.Sprintf("%d backups whose time is over are being deleted", r.remaining)
	default:
		f.status, f.reason, f.message = metav1.ConditionTrue, metav1alpha1.ReasonSucceeded, "no backup is there whose time is over"
	}
	return f
}

// storedOf an enrollment. Who asks for a try now need not wait for the next one.
func storedOf(o *observation) stored {
	velero := o.Extra.velero
	s := stored{
		own: o.Status.Velero, backups: velero.backups.Objects, requests: velero.deletions.Objects, restored: o.Extra.proof.restored,
		standard: standardOf(o, o.Extra.reading.Known), now: o.Now, retryBy: o.Now,
	}
	if o.IsRequested(target.Status{TargetStatus: &o.Status.TargetStatus}) {
		s.retryBy = o.Now.Add(maxRetryDeletion)
	}
	return s
}
