package backuppolicy

import (
	"fmt"
	"iter"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/conditions"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy"
	"github.com/daytwo-dev/daytwo/controllers/internal/times"
)

// summed are the conditions of enrollments that a policy has too.
var summed = [...]string{
	backupv1alpha1.ConditionStorageAvailable, backupv1alpha1.ConditionBackupsHealthy, backupv1alpha1.ConditionRPOMet,
	backupv1alpha1.ConditionRTOMet, backupv1alpha1.ConditionRecoveryProven, backupv1alpha1.ConditionCoverageComplete,
	backupv1alpha1.ConditionStorageProtected,
}

// part is what a policy tells of one enrollment.
type part struct {
	cluster string
	// last is the start of the last good backup, next that of the next one; zero for none.
	last, next time.Time
	// statuses and reasons of the summed conditions.
	statuses [len(summed)]metav1.ConditionStatus
	reasons  [len(summed)]string
}

// Part implements policy.SummingKind.
func (r *Reconciler) Part(enrollment *backupv1alpha1.BackupEnrollment) any {
	ref := enrollment.Spec.ClusterRef
	one := part{cluster: ref.Namespace + "/" + ref.Name}
	if last := enrollment.Status.LastSuccessful; last != nil && last.StartedAt != nil {
		one.last = last.StartedAt.Time
	}
	if next := enrollment.Status.Next; next != nil {
		one.next = next.Time
	}
	for i, kind := range summed {
		one.statuses[i] = metav1.ConditionUnknown
		if found := policy.CurrentCondition(enrollment, kind); found != nil {
			one.statuses[i], one.reasons[i] = found.Status, found.Reason
		}
	}
	return one
}

// Sum implements policy.SummingKind.
func (r *Reconciler) Sum(backups *backupv1alpha1.BackupPolicy, parts iter.Seq[any], now time.Time) {
	var all []part
	for one := range parts {
		all = append(all, one.(part))
	}
	clusters := backups.Status.Clusters
	backups.Status.ReadyClusters = fmt.Sprintf("%d/%d", clusters.Ready.Count, clusters.Selected.Count)
	list := conditions.List{Conditions: &backups.Status.Conditions, Generation: backups.Status.ObservedGeneration, Now: now}
	if len(all) == 0 {
		backups.Status.Backups = nil
		list.Remove(summed[:]...)
		return
	}
	backups.Status.Backups = sumOf(all)
	for i, kind := range summed {
		status, reason, message := rolledUp(all, i)
		list.Set(kind, status, reason, message)
	}
}

func sumOf(all []part) *backupv1alpha1.BackupSummary {
	sum := &backupv1alpha1.BackupSummary{}
	oldest, next := all[0].last, time.Time{}
	counts := map[string]int{}
	for _, one := range all {
		if one.last.Before(oldest) { // Zero, for none, is before all.
			oldest = one.last
		}
		next = times.Earliest(next, one.next)
		for i, kind := range summed {
			if one.statuses[i] == metav1.ConditionTrue {
				counts[kind]++
			}
		}
	}
	if !oldest.IsZero() {
		sum.Oldest = &metav1.Time{Time: oldest}
	}
	if !next.IsZero() {
		sum.Next = &metav1.Time{Time: next}
	}
	sum.RPOMet = fmt.Sprintf("%d/%d", counts[backupv1alpha1.ConditionRPOMet], len(all))
	sum.Proven = fmt.Sprintf("%d/%d", counts[backupv1alpha1.ConditionRecoveryProven], len(all))
	return sum
}

// maxNamed is how many clusters a condition names.
const maxNamed = 5

// rolledUp is a condition of all clusters: False if it is False in one, and True if it is True in all. The reason is that of
// the first cluster for which it is so.
func rolledUp(all []part, i int) (status metav1.ConditionStatus, reason, message string) {
	byStatus := map[metav1.ConditionStatus][]part{}
	for _, one := range all {
		byStatus[one.statuses[i]] = append(byStatus[one.statuses[i]], one)
	}
	status = metav1.ConditionTrue
	for _, worse := range []metav1.ConditionStatus{metav1.ConditionUnknown, metav1.ConditionFalse} {
		if len(byStatus[worse]) > 0 {
			status = worse
		}
	}
	of := byStatus[status]
	reason = of[0].reasons[i]
	if reason == "" {
		reason = metav1alpha1.ReasonProgressing
	}
	if status == metav1.ConditionTrue {
		return status, reason, fmt.Sprintf("in all %d clusters", len(all))
	}
	var names []string
	for _, one := range of[:min(len(of), maxNamed)] {
		names = append(names, one.cluster)
	}
	message = fmt.Sprintf("%s in %d of %d clusters: %s", status, len(of), len(all), strings.Join(names, ", "))
	if more := len(of) - len(names); more > 0 {
		message += fmt.Sprintf(" and %d more", more)
	}
	return status, reason, message
}
