package drdrill

import (
	"fmt"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/action"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/run"
	"github.com/daytwo-dev/daytwo/controllers/internal/times"
)

// Tasks of a drill.
const (
	taskChoose = "choose-backup"
	// taskOrder is of a drill in a cluster of its own.
	taskOrder = "order-cluster"
	// taskPassword is of a drill in another cluster than the one that was backed up.
	taskPassword = "set-repository-password"
	taskVerify   = "verify"
	taskAssert   = "check-assertions"
	// taskEvidence comes after the verdict.
	taskEvidence = "write-evidence"
	// taskCopy comes after that, where the policy has a bucket for evidence.
	taskCopy = "copy-evidence"
)

// Actions of a drill. Those in a namespace have its number.
const (
	actionNamespace   = "namespace"
	actionQuota       = "quota"
	actionNetwork     = "network"
	actionCredentials = "credentials"
	actionLocation    = "location"
	actionBackup      = "backup"
	actionModifiers   = "modifiers"
	actionRestore     = "restore"
)

// prepareTimeout is how long each step before the restore may take. Velero looks at a new storage location within seconds.
const prepareTimeout = 5 * time.Minute

// assertTimeout is how long it may take until the assertions are evaluated.
const assertTimeout = 15 * time.Minute

func numbered(action string, i int) string { return fmt.Sprintf("%s-%d", action, i) }

// preparations are the actions before the restore, in their order.
func preparations(drill *backupv1alpha1.DRDrill) (names []string) {
	if drill.Spec.Target.Mode != backupv1alpha1.DrillNamespaceMapped {
		names = append(names, actionCredentials, actionLocation, actionBackup)
	}
	names = append(names, actionModifiers)
	if recovers(drill) {
		return names
	}
	for _, in := range []string{actionNamespace, actionQuota, actionNetwork} {
		for i := range drill.Status.Namespaces {
			names = append(names, numbered(in, i))
		}
	}
	return names
}

// Next implements run.Kind: choose, prepare, restore, verify, wait until all is ready, conclude, write evidence.
func (r *Reconciler) Next(v view) move {
	drill := v.Run
	if drill.Status.Verdict != "" {
		switch {
		case v.Task(taskEvidence) == nil:
			return move{Task: &run.Task{Name: taskEvidence, Timeout: prepareTimeout}}
		case isToBeCopied(drill) && v.Task(taskCopy) == nil:
			return move{Task: &run.Task{Name: taskCopy, Timeout: prepareTimeout}}
		}
		return endOf(drill)
	}
	chosen := v.Task(taskChoose)
	switch {
	case chosen == nil:
		return move{Task: &run.Task{Name: taskChoose, Timeout: drill.Spec.RestoreTimeout.Duration}}
	case chosen.Outcome != metav1alpha1.ActionSucceeded || drill.Status.Source == nil:
		return conclude(v)
	}
	if isEphemeral(drill) {
		switch ordered := v.Task(taskOrder); {
		case ordered == nil:
			return move{Task: &run.Task{Name: taskOrder, Timeout: prepareTimeout}}
		case ordered.Outcome != metav1alpha1.ActionSucceeded:
			return conclude(v)
		case !v.Now.Before(endOfLife(drill)):
			return conclude(v, lifetimeCheck(v))
		}
	}
	if next, prepared := prepare(v); !prepared {
		return next
	}
	// Without the password, all is restored but the data of volumes that is in a repository.
	if needsPassword(drill) && v.Task(taskPassword) == nil {
		return move{Task: &run.Task{Name: taskPassword, Timeout: inLifetime(v, prepareTimeout)}}
	}
	return restoreAndVerify(v)
}

// prepare takes the steps before the restore.
func prepare(v view) (next move, prepared bool) {
	for _, name := range preparations(v.Run) {
		switch record := v.Action(name); {
		case record == nil:
			return begin(v, name, prepareTimeout), false
		case record.Outcome != metav1alpha1.ActionSucceeded:
			return conclude(v), false
		}
	}
	return move{}, true
}

// begin an action. In a cluster of the drill's own it waits for the cluster, and the first ones for what is installed there,
// for as long as the cluster may live.
func begin(v view, name string, timeout time.Duration) move {
	if isEphemeral(v.Run) && (name == actionCredentials || name == actionLocation) {
		timeout = ephemeralOf(v.Run).MaxLifetime.Duration
	}
	next := move{Begin: &run.Beginning{Action: name, Cluster: targetKey(v.Run), Timeout: inLifetime(v, timeout)}}
	if isEphemeral(v.Run) {
		next.Until = endOfLife(v.Run)
	}
	return next
}

// inLifetime is a timeout that ends no later than the cluster of the drill.
func inLifetime(v view, timeout time.Duration) time.Duration {
	if !isEphemeral(v.Run) {
		return timeout
	}
	return min(timeout, endOfLife(v.Run).Sub(v.Now))
}

// lifetimeCheck is of a drill whose cluster has to go.
func lifetimeCheck(v view) backupv1alpha1.DrillCheck {
	why := "not everything was checked before"
	if reason := v.Unreachable(targetKey(v.Run)); reason != "" {
		why = reason
	}
	return check(backupv1alpha1.CheckReadiness, backupv1alpha1.CheckNotChecked, "%s of the cluster are over: %s", ephemeralOf(v.Run).MaxLifetime.Duration, why)
}

// restoreAndVerify takes the steps from the restore on.
func restoreAndVerify(v view) move {
	timeout := v.Run.Spec.RestoreTimeout.Duration
	restored, verified := v.Action(actionRestore), v.Task(taskVerify)
	switch {
	case restored == nil:
		return begin(v, actionRestore, timeout)
	case restored.UID == "":
		return conclude(v)
	case verified == nil:
		return move{Task: &run.Task{Name: taskVerify, Timeout: inLifetime(v, timeout)}}
	case verified.Outcome != metav1alpha1.ActionSucceeded:
		return conclude(v)
	}
	ready := readinessOf(v)
	switch ready.Result {
	case "":
		return move{Message: ready.Message, Until: readyUntil(v)}
	case backupv1alpha1.CheckPassed:
		return checkFurther(v, ready)
	}
	return conclude(v, append([]backupv1alpha1.DrillCheck{ready}, notCheckedFurther(v.Run)...)...)
}

// checkFurther takes the steps that a drill asks for itself, once everything is ready.
func checkFurther(v view, ready backupv1alpha1.DrillCheck) move {
	if len(v.Run.Spec.Verify.Assertions) > 0 && v.Task(taskAssert) == nil {
		return move{Task: &run.Task{Name: taskAssert, Timeout: inLifetime(v, assertTimeout)}}
	}
	for name, job := range jobsOf(v.Run) {
		if v.Action(name) == nil {
			// The cluster ends the Job at its timeout, and tells of it afterwards.
			return begin(v, name, job.Timeout.Duration+prepareTimeout)
		}
	}
	return conclude(v, append([]backupv1alpha1.DrillCheck{ready}, jobChecks(v.Run, "it did not begin")...)...)
}

// notCheckedFurther are the checks that a drill asks for itself, and that make no sense before everything is ready.
func notCheckedFurther(drill *backupv1alpha1.DRDrill) []backupv1alpha1.DrillCheck {
	const why = "workloads were not ready"
	checks := jobChecks(drill, why)
	if drill.Status.Task(taskAssert) == nil {
		checks = append(checks, assertionsNotChecked(drill, why)...)
	}
	return checks
}

// assertionsNotChecked are the checks of assertions that could not be evaluated.
func assertionsNotChecked(drill *backupv1alpha1.DRDrill, why string) (checks []backupv1alpha1.DrillCheck) {
	for _, one := range drill.Spec.Verify.Assertions {
		checks = append(checks, check(backupv1alpha1.CheckAssertionPrefix+one.Name, backupv1alpha1.CheckNotChecked, "%s", why))
	}
	return checks
}

// readyUntil is when workloads have to be ready.
func readyUntil(v view) time.Time {
	at := v.Task(taskVerify).EndedAt.Add(v.Run.Spec.Verify.ReadinessTimeout.Duration)
	if isEphemeral(v.Run) {
		return times.Earliest(at, endOfLife(v.Run))
	}
	return at
}

// Decide implements run.Kind.
func (r *Reconciler) Decide(_ *backupv1alpha1.DRDrill, a metav1alpha1.Action, object *unstructured.Unstructured) action.Verdict {
	ref, err := objects.ParseID(a.Object)
	if err != nil {
		return action.Verdict{Outcome: metav1alpha1.ActionFailed, Message: err.Error()}
	}
	switch ref.GroupVersionKind {
	case restoreKind:
		return decideRestore(object)
	case locationKind:
		return decideLocation(object)
	case jobKind:
		return decideJob(object)
	case quotaKind:
		// Until the quota is known to work, objects are refused for want of it.
		if hard, found, _ := unstructured.NestedMap(object.Object, "status", "hard"); !found || len(hard) == 0 {
			return action.Verdict{Message: "waits for the cluster to put the quota in force"}
		}
	}
	return action.Verdict{Outcome: metav1alpha1.ActionSucceeded}
}

func decideLocation(object *unstructured.Unstructured) action.Verdict {
	phase, _, _ := unstructured.NestedString(object.Object, "status", "phase")
	if phase == string(velerov1.BackupStorageLocationPhaseAvailable) {
		return action.Verdict{Outcome: metav1alpha1.ActionSucceeded}
	}
	message, _, _ := unstructured.NestedString(object.Object, "status", "message")
	return action.Verdict{Message: join("Velero has not found the storage available", message)}
}

// decideRestore takes Velero's word that a restore has ended, and how: what it is worth is checked afterwards.
func decideRestore(object *unstructured.Unstructured) action.Verdict {
	phase, _, _ := unstructured.NestedString(object.Object, "status", "phase")
	reason, _, _ := unstructured.NestedString(object.Object, "status", "failureReason")
	problems, _, _ := unstructured.NestedStringSlice(object.Object, "status", "validationErrors")
	errorCount, _, _ := unstructured.NestedInt64(object.Object, "status", "errors")
	switch velerov1.RestorePhase(phase) {
	case velerov1.RestorePhaseCompleted:
		return action.Verdict{Outcome: metav1alpha1.ActionSucceeded}
	case velerov1.RestorePhasePartiallyFailed:
		return action.Verdict{Outcome: metav1alpha1.ActionFailed, Message: join(fmt.Sprintf("PartiallyFailed with %d errors", errorCount), reason)}
	case velerov1.RestorePhaseFailed:
		return action.Verdict{Outcome: metav1alpha1.ActionFailed, Message: join("Failed", reason)}
	case velerov1.RestorePhaseFailedValidation:
		if len(problems) > 0 {
			reason = problems[0]
		}
		return action.Verdict{Outcome: metav1alpha1.ActionFailed, Message: join("Velero refused the restore", reason)}
	case "":
		return action.Verdict{Message: "waits for Velero"}
	}
	return action.Verdict{Message: phase}
}

// join adds a reason to what happened, if there is one.
func join(what, reason string) string {
	if reason == "" {
		return what
	}
	return what + ": " + reason
}
