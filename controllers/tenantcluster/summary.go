package tenantcluster

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/brief"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/suspension"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/topology"
)

// summarize sets Ready, Reconciling and Stalled.
func summarize(w *writer, seen observed, todo decision, done outcome, hands suspension.Suspension) {
	conflict := w.find(tenancyv1alpha1.ConditionIdentityConflict)
	if !seen.deleting() && summarizeOrder(w, seen, todo.order) {
		return
	}
	switch {
	case seen.deleting():
		w.summary(metav1.ConditionFalse, metav1alpha1.ReasonDeleting, deletionMessage(todo, done), metav1alpha1.ConditionReconciling)
	case seen.credentials.problem != nil:
		w.summary(metav1.ConditionFalse, seen.credentials.problem.reason, seen.credentials.problem.message, metav1alpha1.ConditionStalled)
	case isAwaited(done.link):
		if !w.summarized() || w.is(tenancyv1alpha1.ConditionConnected) == metav1.ConditionUnknown {
			w.summary(metav1.ConditionUnknown, metav1alpha1.ReasonProgressing, "The first answer of the cluster is awaited.", metav1alpha1.ConditionReconciling)
		}
	case done.link.Phase == fleet.Unauthorized:
		w.summary(metav1.ConditionFalse, tenancyv1alpha1.ReasonUnauthorized, "The credentials are refused: "+done.link.Message, metav1alpha1.ConditionStalled)
	case done.link.Phase == fleet.Unreachable:
		w.summary(metav1.ConditionUnknown, metav1alpha1.ReasonClusterUnreachable,
			"The cluster does not answer, and is tried again and again: "+done.link.Message, metav1alpha1.ConditionReconciling)
	case conflict != nil && conflict.Status == metav1.ConditionTrue:
		w.summary(metav1.ConditionFalse, conflict.Reason, conflict.Message, metav1alpha1.ConditionStalled)
	default:
		summarizeConnected(w, seen, todo, done, hands)
	}
}

// summarizeConnected is for a cluster that answers and is the right one.
func summarizeConnected(w *writer, seen observed, todo decision, done outcome, hands suspension.Suspension) {
	switch {
	case todo.admission != admit:
		w.summary(metav1.ConditionUnknown, metav1alpha1.ReasonProgressing, "The cluster answers; its identity is being recorded.", metav1alpha1.ConditionReconciling)
	case done.err != nil:
		w.summary(metav1.ConditionTrue, metav1alpha1.ReasonSucceeded, connectedTo(w.status))
		w.set(metav1alpha1.ConditionReconciling, metav1.ConditionTrue, metav1alpha1.ReasonFailed, done.err.Error()+"; it is tried again")
	case w.status.Upgrade != nil:
		w.summary(metav1.ConditionTrue, tenancyv1alpha1.ReasonUpgrading, w.find(tenancyv1alpha1.ConditionUpgraded).Message, metav1alpha1.ConditionReconciling)
	case seen.ordered() && notReady(w) != nil:
		trouble := notReady(w)
		w.summary(metav1.ConditionFalse, trouble.Reason, trouble.Message, metav1alpha1.ConditionReconciling)
	case hands.Active:
		w.summary(metav1.ConditionTrue, metav1alpha1.ReasonSuspended, withComplaint(connectedTo(w.status)+
			"; "+hands.String()+": drift is reported and not corrected, no new revision is applied", hands))
	default:
		w.summary(metav1.ConditionTrue, metav1alpha1.ReasonSucceeded, withComplaint(connectedTo(w.status), hands))
	}
}

// removal is how far Cluster API is with removing a cluster.
func removal(live *clusterv1.Cluster) string {
	message := "Cluster API removes Cluster " + live.Name
	if deleting := meta.FindStatusCondition(live.Status.Conditions, clusterv1.ClusterDeletingCondition); deleting != nil && deleting.Message != "" {
		message += ": " + topology.Plain(deleting)
	}
	return message
}

func connectedTo(status *tenancyv1alpha1.TenantClusterStatus) string {
	return fmt.Sprintf("Connected to %s (%s)", status.Endpoint, status.Version)
}

func withComplaint(message string, hands suspension.Suspension) string {
	if hands.Complaint == "" {
		return message
	}
	return message + "; " + hands.Complaint
}

// maxMessage bounds a condition's message in bytes: some of it comes from others.
const maxMessage = 2048

// writer changes a status in memory.
type writer struct {
	status     *tenancyv1alpha1.TenantClusterStatus
	now        time.Time
	generation int64
}

func (w *writer) set(kind string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&w.status.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: brief.Message(message, maxMessage),
		ObservedGeneration: w.generation, LastTransitionTime: metav1.NewTime(w.now).Rfc3339Copy(),
	})
}

func (w *writer) remove(kinds ...string) {
	for _, kind := range kinds {
		meta.RemoveStatusCondition(&w.status.Conditions, kind)
	}
}

func (w *writer) find(kind string) *metav1.Condition {
	return meta.FindStatusCondition(w.status.Conditions, kind)
}

// is returns the status of a condition; empty if there is none.
func (w *writer) is(kind string) metav1.ConditionStatus {
	if condition := w.find(kind); condition != nil {
		return condition.Status
	}
	return ""
}

func (w *writer) summarized() bool { return w.find(metav1alpha1.ConditionReady) != nil }

// summary sets Ready, and of Reconciling and Stalled the one that is named, if any.
func (w *writer) summary(ready metav1.ConditionStatus, reason, message string, beside ...string) {
	w.set(metav1alpha1.ConditionReady, ready, reason, message)
	w.remove(metav1alpha1.ConditionReconciling)
	w.remove(metav1alpha1.ConditionStalled)
	for _, kind := range beside {
		w.set(kind, metav1.ConditionTrue, reason, message)
	}
}
