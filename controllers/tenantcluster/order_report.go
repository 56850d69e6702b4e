package tenantcluster

import (
	"cmp"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/clusterapi"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/maintenancewindow"
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
func reportOrder(w *writer, o observation, p orderPlan) {
	reportMaintenance(w, o.maintenance)
	if o.made.live != nil && (o.ordered() || o.cluster.Spec.ClusterRef != nil) {
		progress := topology.Read(o.made.live)
		reportPart(w, tenancyv1alpha1.ConditionProvisioned, progress.Infrastructure)
		reportPart(w, tenancyv1alpha1.ConditionControlPlaneReady, progress.ControlPlane)
		reportPart(w, tenancyv1alpha1.ConditionWorkersReady, progress.Workers)
	}
	if o.orders.ClusterOf(o.cluster).Name == "" {
		w.Remove(tenancyv1alpha1.ConditionProvisioned, tenancyv1alpha1.ConditionControlPlaneReady, tenancyv1alpha1.ConditionWorkersReady)
	}
	switch {
	case o.cluster.Spec.Topology == nil && o.cluster.Spec.Upgrade == (tenancyv1alpha1.UpgradePolicy{}):
		w.Remove(tenancyv1alpha1.ConditionUpgraded)
	case o.cluster.Spec.Topology == nil:
		w.Set(tenancyv1alpha1.ConditionUpgraded, metav1.ConditionUnknown, reasonNotOwned,
			"Daytwo did not make this cluster, and whoever did upgrades it: spec.upgrade has no effect")
	case p.step.Reason != "":
		reportStep(w, p)
	case p.create != nil && p.problem == nil:
		w.status.OrderedVersion = p.create.Spec.Topology.Version
	}
}

// reportTaken keeps what the Cluster's topology is without anybody's edits.
func reportTaken(w *writer, p orderPlan, done clusterapi.Answer) {
	switch {
	case done.Cluster != nil:
		w.status.TopologyHash = topology.Fingerprint(done.Cluster)
	case p.filledIn != nil:
		w.status.TopologyHash = topology.Fingerprint(p.filledIn)
	}
}

// orderEvents tells of an edit of the Cluster that was taken back.
func orderEvents(o observation, p orderPlan, done clusterapi.Answer) []eventRecord {
	editor := takenBackFrom(o, p, done)
	if editor == "" {
		return nil
	}
	return []eventRecord{{corev1.EventTypeWarning, "DriftCorrected", "Correct", fmt.Sprintf(
		"%s changed the topology of Cluster %s: it is as ordered again", editor, o.made.live.Name)}}
}

// takenBackFrom names the editor whose edit is known to be taken back; empty for none. A write that changed nothing took
// back no edit: the manager may have died after an order, before that was on record.
func takenBackFrom(o observation, p orderPlan, done clusterapi.Answer) string {
	switch {
	case p.asOrdered:
		return o.made.untold
	case p.edited && done.Cluster != nil && topology.Fingerprint(done.Cluster) != topology.Fingerprint(o.made.live):
		return editorOf(o)
	}
	return ""
}

// untoldEditor names the editor whose edit may be taken back already, since the answer to that was lost. Empty for none.
func untoldEditor(o observation, p orderPlan, done clusterapi.Answer) string {
	switch {
	case p.edited && done.Lost:
		return editorOf(o)
	case p.edited && done.Cluster != nil, p.asOrdered:
		return ""
	}
	return o.made.untold
}

// editorOf is who made the edit that is looked at. Where it is gone already, its Cluster does not say so any more.
func editorOf(o observation) string { return cmp.Or(o.made.editor, o.made.untold, "somebody") }

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
func reportStep(w *writer, p orderPlan) {
	step := p.step
	w.status.OrderedVersion = step.Version
	if p.rejected || p.update == nil {
		w.status.OrderedVersion = p.ordered
	}
	up := w.status.Upgrade
	switch {
	case step.Finish, p.rejected && up != nil && up.From == p.ordered:
		w.status.Upgrade = nil
	case step.Begin != nil && p.problem == nil:
		w.status.Upgrade = step.Begin
	}
	switch {
	case p.problem != nil:
		w.Set(tenancyv1alpha1.ConditionUpgraded, metav1.ConditionFalse, p.problem.reason, p.problem.message)
	case step.Upgraded:
		w.Set(tenancyv1alpha1.ConditionUpgraded, metav1.ConditionTrue, step.Reason, step.Message)
	default:
		w.Set(tenancyv1alpha1.ConditionUpgraded, metav1.ConditionFalse, step.Reason, step.Message)
	}
}

// reportMaintenance keeps the start of a window that is open already.
func reportMaintenance(w *writer, state maintenancewindow.State) {
	before := w.status.MaintenanceWindow
	if state.Open && before != nil && state.Span != nil && before.End.Equal(&state.Span.End) {
		return
	}
	w.status.MaintenanceWindow = state.Span
}

// summarizeOrder says what is the matter with an order, before anything is said of the connection. It
// returns false if nothing is.
func summarizeOrder(w *writer, o observation, p orderPlan) bool {
	switch {
	case p.problem != nil:
		w.Summarize(metav1.ConditionFalse, p.problem.reason, p.problem.message, metav1alpha1.ConditionStalled)
	case o.maintenance.Invalid != "":
		w.Summarize(metav1.ConditionFalse, reasonInvalidWindow, o.maintenance.Invalid, metav1alpha1.ConditionStalled)
	case p.waits != "":
		w.Summarize(metav1.ConditionFalse, tenancyv1alpha1.ReasonProvisioning, p.waits, metav1alpha1.ConditionReconciling)
	case o.cluster.Spec.Topology != nil && o.credentials.problem != nil && o.credentials.problem.reason == tenancyv1alpha1.ReasonProvisioning:
		w.Summarize(metav1.ConditionFalse, tenancyv1alpha1.ReasonProvisioning, firstTrouble(w, o.credentials.problem.message), metav1alpha1.ConditionReconciling)
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
func phaseOf(w *writer, o observation) tenancyv1alpha1.ClusterPhase {
	connected := w.Get(tenancyv1alpha1.ConditionConnected)
	switch {
	case o.deleting():
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
