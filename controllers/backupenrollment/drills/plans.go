package drills

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/maintenance"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/schedule"
	"github.com/daytwo-dev/daytwo/controllers/internal/times"
)

const (
	// maxDrillName is how long the name of a DRDrill may be, which is also a label.
	maxDrillName = 63
	// maxDeleted is how many drills of the past are deleted at a time.
	maxDeleted = 20
)

// Situation is what plans are decided by.
type Situation struct {
	// Enrollment of a cluster, with the plans of its policy.
	Enrollment *backupv1alpha1.BackupEnrollment
	// Recorded is how the plans stood.
	Recorded []backupv1alpha1.DrillPlanStatus
	// Drills of the policy in the cluster, by plan or by people.
	Drills []backupv1alpha1.DRDrill
	// Now is when.
	Now time.Time
}

// Plans is how the plans for drills stand.
type Plans struct {
	// Told is what the status is to tell of them, if everything that is due is made.
	Told []backupv1alpha1.DrillPlanStatus
	// Due are the drills that are to be made now.
	Due []*backupv1alpha1.DRDrill
	// Expired are those of the past that are to be deleted with the next one.
	Expired []string
	// WakeAt is when the next one is due; zero for never.
	WakeAt time.Time
}

// Plan decides which drills are to be made. A plan has its first one at the first start after it was seen. The last start
// that was missed is made up for once. A plan makes no other drill while one of its own is under way.
func Plan(s Situation) Plans {
	var p Plans
	for i := range s.Enrollment.Spec.Drills {
		plan := &s.Enrollment.Spec.Drills[i]
		starts, refused := schedule.Parse(plan.Schedule.Cron, plan.Schedule.TimeZone)
		windows, err := maintenance.Parse("windows", plan.Windows)
		if refused != nil || err != nil { // The policy's webhook refuses it.
			continue
		}
		p.add(s, plan, starts, windows)
	}
	return p
}

// add decides about one plan.
func (p *Plans) add(s Situation, plan *backupv1alpha1.DrillPlan, starts schedule.Recurrence, windows maintenance.Calendar) {
	mine, told, offset := ofPlan(s.Drills, plan.Name), s.recordOf(plan), offsetOf(s.Enrollment, plan)
	start, due := starts.Latest(told.ScheduledAt.Add(-offset), s.Now.Add(-offset))
	open, closes := windows.At(s.Now)
	switch at := start.Add(offset); {
	case due && told.Rested+1 < plan.Turns():
		told.ScheduledAt, told.Rested = metav1.NewTime(at), told.Rested+1
	case due && !open:
		opens, _, _ := windows.Next(s.Now)
		p.WakeAt = times.Earliest(p.WakeAt, opens)
	case due && !slices.ContainsFunc(mine, isUnderWay):
		drill := newDrill(s.Enrollment, plan, at)
		if !closes.IsZero() {
			drill.Spec.StartBy = ptr.To(metav1.NewTime(closes))
		}
		told.ScheduledAt, told.DrillName, told.Rested = metav1.NewTime(at), drill.Name, 0
		p.Due = append(p.Due, drill)
		p.Expired = append(p.Expired, expired(mine, plan)...)
	}
	told.Next = nil
	if next, comes := starts.After(s.Now.Add(-offset)); comes {
		p.WakeAt = times.Earliest(p.WakeAt, next.Add(offset))
		told.Next = nextTurn(starts, next, plan.Turns()-told.Rested-1, offset)
	}
	p.Told = append(p.Told, told)
}

// nextTurn is the start that follows a number of others, which are the turns of other clusters; nil for none.
func nextTurn(starts schedule.Recurrence, next time.Time, others int32, offset time.Duration) *metav1.Time {
	for range others {
		later, comes := starts.After(next)
		if !comes {
			return nil
		}
		next = later
	}
	at := metav1.NewTime(next.Add(offset))
	return &at
}

func ofPlan(drills []backupv1alpha1.DRDrill, plan string) (found []backupv1alpha1.DRDrill) {
	for i := range drills {
		if drills[i].Labels[metav1alpha1.LabelDrillPlan] == plan {
			found = append(found, drills[i])
		}
	}
	return found
}

func isUnderWay(drill backupv1alpha1.DRDrill) bool { return drill.Status.FinishedAt == nil }

// recordOf a plan; one that is new begins now, with as many starts behind it as make the clusters take turns.
func (s Situation) recordOf(plan *backupv1alpha1.DrillPlan) backupv1alpha1.DrillPlanStatus {
	for _, one := range s.Recorded {
		if one.Name == plan.Name {
			return one
		}
	}
	rested := schedule.Offset(string(s.Enrollment.UID)+"/turn/"+plan.Name, time.Duration(plan.Turns())*time.Minute) / time.Minute
	return backupv1alpha1.DrillPlanStatus{Name: plan.Name, ScheduledAt: metav1.NewTime(s.Now).Rfc3339Copy(), Rested: int32(rested)} //nolint:gosec // Fewer than 100.
}

// offsetOf is how much later than its expression says a plan begins in a cluster.
func offsetOf(enrollment *backupv1alpha1.BackupEnrollment, plan *backupv1alpha1.DrillPlan) time.Duration {
	if plan.Schedule.Spread == nil {
		return 0
	}
	return schedule.Offset(string(enrollment.UID)+"/"+plan.Name, plan.Schedule.Spread.Duration)
}

// expired are the drills of a plan beyond its history limit, with room for one more.
func expired(mine []backupv1alpha1.DRDrill, plan *backupv1alpha1.DrillPlan) (names []string) {
	finished := slices.DeleteFunc(slices.Clone(mine), isUnderWay)
	slices.SortFunc(finished, func(a, b backupv1alpha1.DRDrill) int {
		return cmp.Or(b.Status.FinishedAt.Compare(a.Status.FinishedAt.Time), cmp.Compare(a.Name, b.Name))
	})
	limit := 1
	if plan.HistoryLimit != nil {
		limit = int(*plan.HistoryLimit)
	}
	for i := max(limit-1, 0); i < min(len(finished), limit-1+maxDeleted); i++ {
		names = append(names, finished[i].Name)
	}
	return names
}

// newDrill is the drill of a plan for a start. Its name follows from that, so it is made once.
func newDrill(enrollment *backupv1alpha1.BackupEnrollment, plan *backupv1alpha1.DrillPlan, start time.Time) *backupv1alpha1.DRDrill {
	ref, policy := enrollment.Spec.ClusterRef, enrollment.Labels[metav1alpha1.LabelPolicy]
	name := objects.ShortName(maxDrillName, strings.ReplaceAll(plan.Name+"-"+ref.Name, ".", "-"), fmt.Sprintf("%s/%s/%d", enrollment.UID, plan.Name, start.Unix()))
	return &backupv1alpha1.DRDrill{
		ObjectMeta: metav1.ObjectMeta{Namespace: enrollment.Namespace, Name: name, Labels: map[string]string{
			metav1alpha1.LabelPolicy: policy, metav1alpha1.LabelCluster: ref.Name, metav1alpha1.LabelClusterNamespace: ref.Namespace,
			metav1alpha1.LabelDrillPlan: plan.Name,
		}},
		Spec: backupv1alpha1.DRDrillSpec{PolicyName: policy, ClusterRef: ref, DrillScope: *plan.DrillScope.DeepCopy()},
	}
}
