package tenantcluster

import (
	"cmp"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/topology"
)

// Reasons that only this file gives.
const (
	reasonInvalidWindow = "InvalidMaintenanceWindow"
	reasonNotOwned      = "NotOwned"
)

// retryRefused is how long a refused order waits for another try: its ClusterClass may have changed.
const retryRefused = time.Minute

// reportOrder tells how Cluster API stands with a cluster, whether Daytwo ordered it or not.
func reportOrder(w *writer, seen observed, todo orderDecision) {
	reportMaintenance(w, seen.maintenance)
	if seen.made.live != nil && (seen.ordered() || seen.cluster.Spec.ClusterRef != nil) {
		progress := topology.Read(seen.made.live)
		reportPart(w, tenancyv1alpha1.ConditionProvisioned, progress.Infrastructure)
		reportPart(w, tenancyv1alpha1.ConditionControlPlaneReady, progress.ControlPlane)
		reportPart(w, tenancyv1alpha1.ConditionWorkersReady, progress.Workers)
	}
	if clusterNameOf(seen.cluster) == "" {
		w.Remove(tenancyv1alpha1.ConditionProvisioned, tenancyv1alpha1.ConditionControlPlaneReady, tenancyv1alpha1.ConditionWorkersReady)
	}
	switch {
	case seen.cluster.Spec.Topology == nil && seen.cluster.Spec.Upgrade == (tenancyv1alpha1.UpgradePolicy{}):
		w.Remove(tenancyv1alpha1.ConditionUpgraded)
	case seen.cluster.Spec.Topology == nil:
		w.Set(tenancyv1alpha1.ConditionUpgraded, metav1.ConditionUnknown, reasonNotOwned,
			"Daytwo did not make this cluster, and whoever did upgrades it: spec.upgrade has no effect")
	case todo.step.Reason != "":
		reportStep(w, todo)
	case todo.create != nil && todo.problem == nil:
		w.status.OrderedVersion = todo.create.Spec.Topology.Version
	}
}

// reportTaken keeps what the Cluster's topology is without anybody's edits.
func reportTaken(w *writer, todo orderDecision, done orderOutcome) {
	switch {
	case done.cluster != nil:
		w.status.TopologyHash = topology.Fingerprint(done.cluster)
	case todo.filledIn != nil:
		w.status.TopologyHash = topology.Fingerprint(todo.filledIn)
	}
}

// orderEvents tells of an edit of the Cluster that was taken back. What came to the same is none: the manager may have
// died after an order, before that was on record.
func orderEvents(seen observed, todo orderDecision, done orderOutcome) []announcement {
	if !todo.edited || done.cluster == nil || topology.Fingerprint(done.cluster) == topology.Fingerprint(seen.made.live) {
		return nil
	}
	return []announcement{{corev1.EventTypeWarning, "DriftCorrected", "Correct", fmt.Sprintf(
		"%s changed the topology of Cluster %s: it is as ordered again", cmp.Or(seen.made.editor, "somebody"), done.cluster.Name)}}
}

func reportPart(w *writer, condition string, part topology.Part) {
	switch {
	case part.Absent:
		w.Remove(condition)
	case part.Ready:
		w.Set(condition, metav1.ConditionTrue, part.Reason, part.Message)
	default:
		w.Set(condition, metav1.ConditionFalse, part.Reason, part.Message)
	}
}

// reportStep puts on record what was decided. Of what Cluster API refused, nothing is on record any more that it
// was not asked for before.
func reportStep(w *writer, todo orderDecision) {
	step := todo.step
	w.status.OrderedVersion = step.Version
	if todo.turnedDown || todo.update == nil {
		w.status.OrderedVersion = todo.ordered
	}
	up := w.status.Upgrade
	switch {
	case step.Finish, todo.turnedDown && up != nil && up.From == todo.ordered:
		w.status.Upgrade = nil
	case step.Begin != nil && todo.problem == nil:
		w.status.Upgrade = step.Begin
	}
	switch {
	case todo.problem != nil:
		w.Set(tenancyv1alpha1.ConditionUpgraded, metav1.ConditionFalse, todo.problem.reason, todo.problem.message)
	case step.Upgraded:
		w.Set(tenancyv1alpha1.ConditionUpgraded, metav1.ConditionTrue, step.Reason, step.Message)
	default:
		w.Set(tenancyv1alpha1.ConditionUpgraded, metav1.ConditionFalse, step.Reason, step.Message)
	}
}

// reportMaintenance keeps the start of a window that is open already.
func reportMaintenance(w *writer, state maintenanceState) {
	before := w.status.MaintenanceWindow
	if state.open && before != nil && state.span != nil && before.End.Equal(&state.span.End) {
		return
	}
	w.status.MaintenanceWindow = state.span
}

// summarizeOrder says what is the matter with an order, before anything is said of the connection. It
// returns false if nothing is.
func summarizeOrder(w *writer, seen observed, todo orderDecision) bool {
	switch {
	case todo.problem != nil:
		w.Summarize(metav1.ConditionFalse, todo.problem.reason, todo.problem.message, metav1alpha1.ConditionStalled)
	case seen.maintenance.invalid != "":
		w.Summarize(metav1.ConditionFalse, reasonInvalidWindow, seen.maintenance.invalid, metav1alpha1.ConditionStalled)
	case todo.waits != "":
		w.Summarize(metav1.ConditionFalse, tenancyv1alpha1.ReasonProvisioning, todo.waits, metav1alpha1.ConditionReconciling)
	case seen.cluster.Spec.Topology != nil && seen.credentials.problem != nil && seen.credentials.problem.reason == tenancyv1alpha1.ReasonProvisioning:
		w.Summarize(metav1.ConditionFalse, tenancyv1alpha1.ReasonProvisioning, firstTrouble(w, seen.credentials.problem.message), metav1alpha1.ConditionReconciling)
	default:
		return false
	}
	return true
}

// firstTrouble is what the first part that is not ready says.
func firstTrouble(w *writer, otherwise string) string {
	if trouble := notReady(w); trouble != nil {
		return trouble.Message
	}
	return otherwise
}

// notReady is the condition of the first part of the cluster that is not ready; nil if all are.
func notReady(w *writer) *metav1.Condition {
	for _, part := range []string{
		tenancyv1alpha1.ConditionProvisioned, tenancyv1alpha1.ConditionControlPlaneReady, tenancyv1alpha1.ConditionWorkersReady,
	} {
		if condition := w.Get(part); condition != nil && condition.Status != metav1.ConditionTrue {
			return condition
		}
	}
	return nil
}

// phaseOf puts the conditions into one word for people.
func phaseOf(w *writer, seen observed) tenancyv1alpha1.ClusterPhase {
	connected := w.Get(tenancyv1alpha1.ConditionConnected)
	switch {
	case seen.deleting():
		return tenancyv1alpha1.PhaseDeleting
	case w.Status(metav1alpha1.ConditionStalled) == metav1.ConditionTrue:
		return tenancyv1alpha1.PhaseFailed
	case w.status.Upgrade != nil:
		return tenancyv1alpha1.PhaseUpgrading
	case connected != nil && connected.Reason == tenancyv1alpha1.ReasonUnreachable:
		return tenancyv1alpha1.PhaseUnreachable
	case w.Status(tenancyv1alpha1.ConditionProvisioned) == metav1.ConditionFalse:
		return tenancyv1alpha1.PhaseProvisioning
	case connected != nil && connected.Status == metav1.ConditionTrue:
		return tenancyv1alpha1.PhaseRunning
	case w.Status(tenancyv1alpha1.ConditionProvisioned) != "":
		return tenancyv1alpha1.PhaseProvisioning
	}
	return tenancyv1alpha1.PhasePending
}
