package backupenrollment

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/coverage"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/history"
)

// coverageFinding is what in the cluster no backup covers. It is no reason for an enrollment not to be Ready: to leave
// something out may be what people want.
func coverageFinding(o *observation, told history.History) finding {
	f := finding{kind: backupv1alpha1.ConditionCoverageComplete, status: metav1.ConditionUnknown, reason: backupv1alpha1.ReasonCoverageUnknown}
	velero, own := o.Extra.velero, o.Status.Velero
	filters, known := coverage.FiltersOf(velero.schedule, velero.schedules, o.Extra.policies)
	if f.message = whyNamespacesUnknown(velero, known); f.message != "" {
		return f
	}
	namespaces := coverage.Of(filters, velero.namespaces.Objects, own.Namespace)
	backup, why := told.LastRead()
	gaps := namespaces.Gaps()
	if backup != nil {
		gaps = append(gaps, coverage.VolumeGaps(backup)...)
	}
	switch {
	case len(gaps) > 0:
		f.status, f.reason, f.message = metav1.ConditionFalse, backupv1alpha1.ReasonNotCovered, strings.Join(gaps, "; ")
	case why != "":
		f.message = why
	default:
		f.status, f.reason = metav1.ConditionTrue, backupv1alpha1.ReasonCovered
		f.message = fmt.Sprintf("%d namespaces, and %d volumes in backup %s", namespaces.Total, *backup.Volumes.Covered, backup.Name)
	}
	return f
}

func whyNamespacesUnknown(velero *seen, known bool) string {
	switch {
	case !known:
		return "the Schedule is not seen yet"
	case velero.namespaces.Unknown != "":
		return "namespaces cannot be watched: " + velero.namespaces.Unknown
	case velero.namespaces.Pending():
		return "waits for the first list of namespaces"
	case velero.namespaces.Incomplete:
		return fmt.Sprintf("the cluster has more than %d namespaces, or very large ones", maxNamespaces)
	}
	return ""
}
