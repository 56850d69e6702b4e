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
)

// Tasks of a drill.
const (
	taskChoose = "choose-backup"
	taskVerify = "verify"
	// taskEvidence comes after the verdict.
	taskEvidence = "write-evidence"
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

func numbered(action string, i int) string { return fmt.Sprintf("%s-%d", action, i) }

// preparations are the actions before the restore, in their order.
func preparations(drill *backupv1alpha1.DRDrill) (names []string) {
	if drill.Spec.Target.Mode == backupv1alpha1.DrillStandby {
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
		if v.Task(taskEvidence) == nil {
			return move{Task: &run.Task{Name: taskEvidence, Timeout: prepareTimeout}}
		}
		return endOf(drill)
	}
	timeout := drill.Spec.RestoreTimeout.Duration
	chosen := v.Task(taskChoose)
	switch {
	case chosen == nil:
		return move{Task: &run.Task{Name: taskChoose, Timeout: timeout}}
	case chosen.Outcome != metav1alpha1.ActionSucceeded || drill.Status.Source == nil:
		return conclude(v)
	}
	for _, name := range preparations(drill) {
		switch record := v.Action(name); {
		case record == nil:
			return move{Begin: &run.Beginning{Action: name, Cluster: targetKey(drill), Timeout: prepareTimeout}}
		case record.Outcome != metav1alpha1.ActionSucceeded:
			return conclude(v)
		}
	}
	restored, verified := v.Action(actionRestore), v.Task(taskVerify)
	switch {
	case restored == nil:
		return move{Begin: &run.Beginning{Action: actionRestore, Cluster: targetKey(drill), Timeout: timeout}}
	case restored.UID == "":
		return conclude(v)
	case verified == nil:
		return move{Task: &run.Task{Name: taskVerify, Timeout: timeout}}
	case verified.Outcome != metav1alpha1.ActionSucceeded:
		return conclude(v)
	}
	ready := readinessOf(v)
	if ready.Result == "" {
		return move{Message: ready.Message, Until: readyUntil(v)}
	}
	return conclude(v, ready)
}

// readyUntil is when workloads have to be ready.
func readyUntil(v view) time.Time {
	return v.Task(taskVerify).EndedAt.Add(v.Run.Spec.Verify.ReadinessTimeout.Duration)
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
