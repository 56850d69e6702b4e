package deletion

import (
	"fmt"
	"strings"
	"time"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/times"
	"github.com/daytwo-dev/daytwo/controllers/internal/truncate"
)

// awaitDrills waits for drills that are under way.
func awaitDrills(s Situation, step *Step) string {
	if len(s.Drills) == 0 {
		return ""
	}
	waits := "drills are under way: " + truncate.Names(s.Drills, shown)
	if s.overdue(step.Record) {
		step.GivenUp = append(step.GivenUp, GivenUp{Step: step.Record.Step, Why: waits + ", and the cluster does not answer: " + s.Unreachable.Why})
		return ""
	}
	if step.Record.Deadline != nil && step.Record.Deadline.After(s.Now) {
		step.WakeAt = step.Record.Deadline.Time
	}
	return waits + s.until(step.Record)
}

// awaitBackup waits for the last backup. What Daytwo never reached has none to make.
func awaitBackup(s Situation, step *Step) string {
	if !s.Cluster.Spec.Deletion.FinalBackup || !s.reached() {
		return ""
	}
	waits := s.missingBackup()
	if waits == "" {
		return ""
	}
	if s.overdue(step.Record) {
		why := "no final backup was made before the deletion was due: " + waits + "; the cluster does not answer: " + s.Unreachable.Why
		step.GivenUp = append(step.GivenUp, GivenUp{Step: step.Record.Step, Why: why, Lost: true})
		return ""
	}
	for _, enrollment := range s.Enrollments {
		if !s.made(enrollment) && !s.requested(enrollment) {
			step.Request = append(step.Request, enrollment)
		}
	}
	if step.Record.Deadline != nil {
		step.WakeAt = step.Record.Deadline.Time
	}
	return waits + s.until(step.Record) + ". To do without the backup, set spec.deletion.finalBackup to false"
}

// missingBackup says which backup is missing; empty for none.
func (s Situation) missingBackup() string {
	if len(s.Enrollments) == 0 {
		return "no BackupEnrollment has this cluster, so nobody makes the backup that spec.deletion.finalBackup asks for: select the cluster with a BackupPolicy"
	}
	var missing []string
	for _, enrollment := range s.Enrollments {
		if s.made(enrollment) {
			continue
		}
		missing = append(missing, enrollment.String()+s.lastSuccess(enrollment))
	}
	if len(missing) == 0 {
		return ""
	}
	return fmt.Sprintf("no backup has succeeded since %s by BackupEnrollment %s", inWords(s.deleted()), truncate.Names(missing, shown))
}

func (s Situation) lastSuccess(enrollment Enrollment) string {
	if s.answered(enrollment) && enrollment.Problem != "" {
		return fmt.Sprintf(" (%s; ask again with another value of the annotation %s)", enrollment.Problem, metav1alpha1.AnnotationBackupNow)
	}
	if enrollment.LastSuccess.IsZero() {
		return " (none ever)"
	}
	return fmt.Sprintf(" (the last one at %s)", inWords(enrollment.LastSuccess))
}

// made is whether the last backup was made: one that began later, by the clock of the cluster, or the one that was asked for.
func (s Situation) made(enrollment Enrollment) bool {
	return enrollment.LastSuccess.After(s.deleted()) || s.answered(enrollment) && enrollment.Problem == ""
}

// answered is whether a backup was made because it was asked for since the deletion was.
func (s Situation) answered(enrollment Enrollment) bool {
	return s.requested(enrollment) && enrollment.Answered == enrollment.Requested
}

// requested is whether the backup was asked for since the deletion was, by Daytwo or by somebody else.
func (s Situation) requested(enrollment Enrollment) bool {
	at, err := time.Parse(time.RFC3339, enrollment.Requested)
	return err == nil && !at.Before(s.deleted())
}

// awaitAddons waits for what cleans up in the cluster, and for what may not begin to.
func awaitAddons(s Situation, step *Step) string {
	if len(s.Targets) == 0 {
		return ""
	}
	var held, kept, going []Target
	guards, until := map[string]bool{}, time.Time{}
	for _, target := range s.Targets {
		switch {
		case !target.Deleted.IsZero():
			going = append(going, target)
			until = times.Latest(until, step.Record.DeadlineFor(target.Deleted, s.Cluster.AddonsTimeout()))
		case target.HeldBy != "":
			held = append(held, target)
			guards[target.HeldBy] = true
		default:
			kept = append(kept, target)
		}
	}
	var parts []string
	if len(held) > 0 {
		parts = append(parts, heldBack(held, guards))
	}
	for _, group := range byKind(kept) {
		parts = append(parts, notDeletedYet(group))
	}
	if len(going) > 0 {
		waits := untilGone(going)
		if !until.IsZero() {
			waits += ", at most until " + inWords(until)
		}
		parts = append(parts, waits+s.why())
	}
	return strings.Join(parts, "; ")
}

// notDeletedYet promises no time: that of a target begins when it is deleted. The targets are of one kind.
func notDeletedYet(kept []Target) string {
	kind, policy := kept[0].Kind, kept[0].PolicyKind
	if policy == "" {
		return untilGone(kept) + ": delete it"
	}
	return fmt.Sprintf("%s, which its %s has not deleted yet: "+
		"if it does not soon, its condition Ready says why; if it is gone itself, delete the %s", untilGone(kept), policy, kind)
}

func heldBack(held []Target, guards map[string]bool) string {
	return fmt.Sprintf("%s held back by the withdrawal guard of %s: the provider lets it go with the annotation %s there, "+
		"whose condition Stalled says the value", subject(held), truncate.Names(sortedKeys(guards), shown), metav1alpha1.AnnotationConfirmWithdrawal)
}

func untilGone(targets []Target) string { return "waits until " + subject(targets) + " gone" }

// awaitCluster waits for Cluster API, and for targets that came late.
func awaitCluster(s Situation, step *Step) string {
	if waits := awaitRemoval(s, step); waits != "" {
		return waits
	}
	if len(s.Targets) > 0 {
		return untilGone(s.Targets)
	}
	return ""
}

// awaitRemoval has Cluster API remove the cluster, once this step is on record: a manager that died in between could
// find that a backup is missing after all. However late it is, it is asked to.
func awaitRemoval(s Situation, step *Step) string {
	switch {
	case s.Removal.Unknown && s.Removal.Message != "":
		return "Daytwo may not look whether the cluster is still there: " + s.Removal.Message
	case s.Removal.Unknown:
		return "Cluster API does not tell whether the cluster is there still"
	case !s.Removal.Needed:
		return ""
	case !s.Removal.Begun:
		before := s.Cluster.Status.Deletion
		step.DeleteCluster = before != nil && before.Step == step.Record.Step
	case !s.Now.Before(step.Record.Deadline.Time):
		return ""
	}
	step.WakeAt = step.Record.Deadline.Time
	return fmt.Sprintf("%s. It is waited for until %s", s.Removal.Message, inWords(step.Record.Deadline.Time))
}

// until is when a cluster that does not answer is given up, and why it is.
func (s Situation) until(record tenancyv1alpha1.Deletion) string {
	if record.Deadline == nil {
		return ""
	}
	return fmt.Sprintf(". The cluster does not answer, and is waited for until %s: %s", inWords(record.Deadline.Time), s.Unreachable.Why)
}

// why the cluster does not answer, where it does not.
func (s Situation) why() string {
	if !s.silent() {
		return ""
	}
	return ". It cannot clean up: " + s.Unreachable.Why
}
