package backuppolicy

import (
	"fmt"
	"iter"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/conditions"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollup"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/targetstate"
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
	// last is the start of the last good backup, next that of the next one; zero for none.
	last, next time.Time
	// conditions are the summed ones.
	conditions [len(summed)]rollup.Part
}

// Part implements policy.SummingKind.
func (r *Reconciler) Part(enrollment *backupv1alpha1.BackupEnrollment) any {
	ref := enrollment.Spec.ClusterRef
	one := part{}
	if last := enrollment.Status.LastSuccessful; last != nil && last.StartedAt != nil {
		one.last = last.StartedAt.Time
	}
	if next := enrollment.Status.Next; next != nil {
		one.next = next.Time
	}
	for i, kind := range summed {
		one.conditions[i] = rollup.PartOf(ref.Namespace+"/"+ref.Name, targetstate.CurrentCondition(enrollment, kind))
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
		status, reason, message := rollup.Condition(conditionsOf(all, i), rollup.GoodIfTrue)
		list.Set(kind, status, reason, message)
	}
}

// conditionsOf are those of one type in all clusters.
func conditionsOf(all []part, i int) []rollup.Part {
	found := make([]rollup.Part, 0, len(all))
	for _, one := range all {
		found = append(found, one.conditions[i])
	}
	return found
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
			if one.conditions[i].Status == metav1.ConditionTrue {
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
