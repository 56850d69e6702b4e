package drdrill

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/truncate"
)

// maxMessage is how long the message of a check may be, in bytes.
const maxMessage = 2000

func check(name string, result backupv1alpha1.CheckResult, format string, args ...any) backupv1alpha1.DrillCheck {
	return backupv1alpha1.DrillCheck{Name: name, Result: result, Message: truncate.Message(fmt.Sprintf(format, args...), maxMessage)}
}

// conclude records what a drill proves. Further checks are those that are decided now.
func conclude(v view, further ...backupv1alpha1.DrillCheck) move {
	drill := v.Run
	checks := append(stepsOf(drill), drill.Status.Checks...)
	checks = append(checks, further...)
	took := v.Now.Sub(drill.Status.StartedAt.Time).Truncate(time.Second)
	checks = append(checks, objectiveChecks(drill, took)...)
	verdict := verdictOf(checks)
	return move{Record: func(concluded *backupv1alpha1.DRDrill) {
		status := &concluded.Status
		status.Checks, status.Verdict = checks, verdict
		status.RestoreTime, status.RecoveryTime = restoreTime(drill), &metav1.Duration{Duration: took}
	}}
}

// stepsOf are the checks that follow from how the steps of a drill ended, the last of which is the one that went wrong.
func stepsOf(drill *backupv1alpha1.DRDrill) []backupv1alpha1.DrillCheck {
	status := &drill.Status
	if chosen := status.Task(taskChoose); chosen.Outcome != metav1alpha1.ActionSucceeded {
		return []backupv1alpha1.DrillCheck{taskCheck(backupv1alpha1.CheckBackup, chosen)}
	}
	if status.Source == nil { // The check tells of the mistake.
		return nil
	}
	checks := []backupv1alpha1.DrillCheck{check(backupv1alpha1.CheckBackup, backupv1alpha1.CheckPassed, "backup %s can be read", status.Source.Backup)}
	if ordered := status.Task(taskOrder); ordered != nil && ordered.Outcome != metav1alpha1.ActionSucceeded {
		return append(checks, check(backupv1alpha1.CheckRestore, backupv1alpha1.CheckNotChecked, "no cluster was ordered: %s", ordered.Message))
	}
	for _, name := range preparations(drill) {
		if record := status.Action(name); record == nil || record.Outcome != metav1alpha1.ActionSucceeded {
			return append(checks, check(backupv1alpha1.CheckRestore, backupv1alpha1.CheckNotChecked, "%s could not be prepared: %s", name, messageOf(record)))
		}
	}
	checks = append(checks, restoreCheck(status.Action(actionRestore), passwordProblem(drill)))
	if verified := status.Task(taskVerify); verified != nil && verified.Outcome != metav1alpha1.ActionSucceeded {
		checks = append(checks, taskCheck(backupv1alpha1.CheckCompleteness, verified))
	}
	if asserted := status.Task(taskAssert); asserted != nil && asserted.Outcome != metav1alpha1.ActionSucceeded {
		checks = append(checks, assertionsNotChecked(drill, asserted.Message)...)
	}
	return checks
}

// taskCheck tells of a task that did not succeed. What was refused is a fault of the backup; what could not be read in time
// may be one of the network.
func taskCheck(name string, task *metav1alpha1.RunTask) backupv1alpha1.DrillCheck {
	result := backupv1alpha1.CheckNotChecked
	if task.Outcome == metav1alpha1.ActionFailed {
		result = backupv1alpha1.CheckFailed
	}
	return check(name, result, "%s", task.Message)
}

func messageOf(record *metav1alpha1.Action) string {
	if record == nil {
		return "it did not begin"
	}
	return record.Message
}

// restoreCheck tells how Velero's restore ended; without is what it had to do without, which may be why; empty for nothing.
func restoreCheck(record *metav1alpha1.Action, without string) backupv1alpha1.DrillCheck {
	switch {
	case record == nil || record.UID == "":
		return check(backupv1alpha1.CheckRestore, backupv1alpha1.CheckNotChecked, "Velero did not begin: %s", messageOf(record))
	case record.Outcome != metav1alpha1.ActionSucceeded:
		return check(backupv1alpha1.CheckRestore, backupv1alpha1.CheckFailed, "%s", join(record.Message, without))
	}
	return check(backupv1alpha1.CheckRestore, backupv1alpha1.CheckPassed, "Velero restored without an error")
}

// restoreTime is how long Velero took; nil if it did not come to an end.
func restoreTime(drill *backupv1alpha1.DRDrill) *metav1.Duration {
	record := drill.Status.Action(actionRestore)
	if record == nil || record.EndedAt == nil || record.UID == "" {
		return nil
	}
	return &metav1.Duration{Duration: record.EndedAt.Sub(record.StartedAt.Time)}
}

// objectiveChecks measure a drill that came to its end against its objectives.
func objectiveChecks(drill *backupv1alpha1.DRDrill, took time.Duration) (checks []backupv1alpha1.DrillCheck) {
	status := &drill.Status
	if rpo := status.Objectives.RPO; rpo != nil && status.DataAge != nil {
		checks = append(checks, measured(backupv1alpha1.CheckRPO, "the data", "old", status.DataAge.Duration, rpo.Duration))
	}
	verified := status.Task(taskVerify)
	if rto := status.Objectives.RTO; rto != nil && verified != nil && verified.Outcome == metav1alpha1.ActionSucceeded {
		checks = append(checks, measured(backupv1alpha1.CheckRTO, "the recovery", "long", took, rto.Duration))
	}
	return checks
}

func measured(name, what, how string, got, objective time.Duration) backupv1alpha1.DrillCheck {
	result := backupv1alpha1.CheckPassed
	if got > objective {
		result = backupv1alpha1.CheckFailed
	}
	return check(name, result, "%s is %s %s; the objective is %s", what, got, how, objective)
}

// verdictOf is Passed only if every check is.
func verdictOf(checks []backupv1alpha1.DrillCheck) backupv1alpha1.DrillVerdict {
	verdict := backupv1alpha1.DrillPassed
	for _, one := range checks {
		switch one.Result {
		case backupv1alpha1.CheckFailed:
			return backupv1alpha1.DrillFailed
		case backupv1alpha1.CheckNotChecked:
			verdict = backupv1alpha1.DrillInconclusive
		case backupv1alpha1.CheckPassed:
		}
	}
	return verdict
}

// endOf a drill that has a verdict.
func endOf(drill *backupv1alpha1.DRDrill) move {
	status, without := &drill.Status, ""
	if written := status.Task(taskEvidence); written != nil && written.Outcome != metav1alpha1.ActionSucceeded {
		without = "; there is no evidence of it: " + written.Message
	}
	if copied := status.Task(taskCopy); copied != nil && copied.Outcome != metav1alpha1.ActionSucceeded {
		without = fmt.Sprintf("; its evidence is in ConfigMap %s alone: %s", status.Evidence.ConfigMapName, copied.Message)
	}
	if status.Verdict == backupv1alpha1.DrillPassed {
		return move{Outcome: metav1alpha1.RunSucceeded, Message: fmt.Sprintf("Passed: backup %s was recovered in %s, with data that was %s old%s",
			status.Source.Backup, status.RecoveryTime.Duration, status.DataAge.Duration, without)}
	}
	var wrong []string
	for _, one := range status.Checks {
		worst := one.Result == backupv1alpha1.CheckFailed || one.Result == backupv1alpha1.CheckNotChecked && status.Verdict == backupv1alpha1.DrillInconclusive
		if worst {
			wrong = append(wrong, one.Name+": "+one.Message)
		}
	}
	return move{Outcome: metav1alpha1.RunFailed, Message: fmt.Sprintf("%s: %s%s", status.Verdict, strings.Join(wrong, "; "), without)}
}

// Conclude implements run.ConcludingKind.
func (r *Reconciler) Conclude(drill *backupv1alpha1.DRDrill) {
	if drill.Status.Outcome == metav1alpha1.RunCancelled {
		drill.Status.Verdict = backupv1alpha1.DrillCancelled
		if metav1alpha1.IsLate(drill, drill.Status.StartedAt.Time) {
			drill.Status.Verdict = backupv1alpha1.DrillSkipped
		}
	}
	drill.Status.Verdict = cmp.Or(drill.Status.Verdict, backupv1alpha1.DrillInconclusive)
}
