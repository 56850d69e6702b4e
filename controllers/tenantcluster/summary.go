package tenantcluster

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/conditions"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/suspension"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/topology"
)

// summarize sets Ready, Reconciling and Stalled.
func summarize(w *writer, o observation, p plan, done result, hands suspension.Suspension) {
	conflict := w.Get(tenancyv1alpha1.ConditionIdentityConflict)
	if !o.deleting() && summarizeOrder(w, o, p.order) {
		return
	}
	switch {
	case o.deleting():
		w.Summarize(metav1.ConditionFalse, metav1alpha1.ReasonDeleting, deletionMessage(p, done), metav1alpha1.ConditionReconciling)
	case o.credentials.problem != nil:
		w.Summarize(metav1.ConditionFalse, o.credentials.problem.reason, o.credentials.problem.message, metav1alpha1.ConditionStalled)
	case isAwaited(done.link):
		if !w.summarized() || w.Status(tenancyv1alpha1.ConditionConnected) == metav1.ConditionUnknown {
			w.Summarize(metav1.ConditionUnknown, metav1alpha1.ReasonProgressing, "The first answer of the cluster is awaited.", metav1alpha1.ConditionReconciling)
		}
	case done.link.Phase == fleet.Unauthorized:
		w.Summarize(metav1.ConditionFalse, tenancyv1alpha1.ReasonUnauthorized, o.expiring().Refusal(o.now, done.link.Message), metav1alpha1.ConditionStalled)
	case done.link.Phase == fleet.Unreachable:
		w.Summarize(metav1.ConditionUnknown, metav1alpha1.ReasonClusterUnreachable,
			"The cluster does not answer, and is tried again and again: "+done.link.Message, metav1alpha1.ConditionReconciling)
	case conflict != nil && conflict.Status == metav1.ConditionTrue:
		w.Summarize(metav1.ConditionFalse, conflict.Reason, conflict.Message, metav1alpha1.ConditionStalled)
	default:
		summarizeConnected(w, o, p, done, hands)
	}
}

// summarizeConnected is for a cluster that answers and is the right one.
func summarizeConnected(w *writer, o observation, p plan, done result, hands suspension.Suspension) {
	switch {
	case p.admission != admit:
		w.Summarize(metav1.ConditionUnknown, metav1alpha1.ReasonProgressing, "The cluster answers; its identity is being recorded.", metav1alpha1.ConditionReconciling)
	case done.err != nil:
		w.Summarize(metav1.ConditionTrue, metav1alpha1.ReasonSucceeded, connectedTo(w.status))
		w.Set(metav1alpha1.ConditionReconciling, metav1.ConditionTrue, metav1alpha1.ReasonFailed, done.err.Error()+"; it is tried again")
	case w.status.Upgrade != nil:
		w.Summarize(metav1.ConditionTrue, tenancyv1alpha1.ReasonUpgrading, w.Get(tenancyv1alpha1.ConditionUpgraded).Message, metav1alpha1.ConditionReconciling)
	case o.ordered() && notReady(w) != nil:
		trouble := notReady(w)
		w.Summarize(metav1.ConditionFalse, trouble.Reason, trouble.Message, metav1alpha1.ConditionReconciling)
	case hands.Active:
		w.Summarize(metav1.ConditionTrue, metav1alpha1.ReasonSuspended, withParseError(connectedTo(w.status)+
			"; "+hands.String()+": drift is reported and not corrected, no new revision is applied", hands))
	default:
		w.Summarize(metav1.ConditionTrue, metav1alpha1.ReasonSucceeded, withParseError(connectedTo(w.status), hands))
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

func withParseError(message string, hands suspension.Suspension) string {
	if hands.ParseError == "" {
		return message
	}
	return message + "; " + hands.ParseError
}

// writer changes a status in memory.
type writer struct {
	conditions.List
	status *tenancyv1alpha1.TenantClusterStatus
}

func newWriter(status *tenancyv1alpha1.TenantClusterStatus, generation int64, now time.Time) *writer {
	return &writer{conditions.List{Conditions: &status.Conditions, Generation: generation, Now: now}, status}
}

func (w *writer) summarized() bool { return w.Get(metav1alpha1.ConditionReady) != nil }
