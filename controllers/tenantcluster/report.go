package tenantcluster

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/conditions"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/suspension"
	"github.com/daytwo-dev/daytwo/controllers/internal/times"
)

// report is what people are told of one reconcile.
type report struct {
	status tenancyv1alpha1.TenantClusterStatus
	// changed: the status is not what it was.
	changed bool
	// happened are of what was done, whatever becomes of the status.
	happened []eventRecord
	events   []eventRecord
	// untold is the editor that a later report names, once the edit is known to be taken back; empty for none.
	untold string
	// again is when a computed deadline comes; zero for none.
	again time.Duration
}

// eventRecord is a Kubernetes Event to be made.
type eventRecord struct {
	kind   string
	reason string
	action string
	note   string
}

// newReport turns everything into status and events. It is pure.
func newReport(o observation, p plan, done result) report {
	before := done.cluster.Status
	w := newWriter(before.DeepCopy(), done.cluster.Generation, o.now)
	hands := suspension.OfCluster(done.cluster, o.now)

	if done.err != nil {
		p.order = p.order.undone()
	}
	if done.order.Refused != "" {
		p.order.problem, p.order.rejected = &problem{tenancyv1alpha1.ReasonOrderRefused, done.order.Refused}, true
	}
	reportDeletion(w, p, done)
	reportOrder(w, o, p.order)
	reportKubeconfig(w, o)
	reportHandout(w, o, p.handout, done.handout)
	reportConnection(w, o, done)
	reportIdentity(w, p, done)
	reportRenewal(w, o)
	reportExpiry(w, o)
	reportUnrecorded(w, done)
	summarize(w, o, p, done, hands)
	reportOrphans(w, o)
	w.status.Phase = phaseOf(w, o)
	w.status.ClusterID = p.clusterID
	w.status.ObservedGeneration = done.cluster.Generation
	reportTaken(w, p.order, done.order)

	return report{
		status:   *w.status,
		changed:  !equality.Semantic.DeepEqual(before, *w.status),
		happened: orderEvents(o, p.order, done.order),
		untold:   untoldEditor(o, p.order, done.order),
		events:   append(eventsFor(before, *w.status), deletionEvents(before, *w.status, p.deletion)...),
		again:    nextDeadline(o, p, done, hands),
	}
}

func reportKubeconfig(w *writer, o observation) {
	if problem := o.credentials.problem; problem != nil {
		w.Set(tenancyv1alpha1.ConditionKubeconfigValid, metav1.ConditionFalse, problem.reason, problem.message)
		return
	}
	message := fmt.Sprintf("The kubeconfig in Secret %s was checked and is in use.", o.credentials.secretFor(o.key))
	if o.renewal.inUse {
		message = fmt.Sprintf("The kubeconfig in Secret %s was checked. In the place of its credentials, a token that Daytwo renews is in use.", o.credentials.secretFor(o.key))
	}
	if o.credentials.secret.DeletionTimestamp != nil {
		message = fmt.Sprintf("Secret %s is being deleted; it is kept until this TenantCluster is deleted or uses another one.", o.credentials.secretFor(o.key))
	}
	w.Set(tenancyv1alpha1.ConditionKubeconfigValid, metav1.ConditionTrue, tenancyv1alpha1.ReasonKubeconfigAccepted, message)
}

func reportConnection(w *writer, o observation, done result) {
	before := w.Status(tenancyv1alpha1.ConditionConnected)
	switch {
	case o.credentials.problem != nil:
		w.Set(tenancyv1alpha1.ConditionConnected, metav1.ConditionFalse, tenancyv1alpha1.ReasonNoAccess, "There is no kubeconfig to connect with.")
		w.status.KubeconfigExpiresAt = nil
	case isAwaited(done.link):
		if !stands(w) {
			w.Set(tenancyv1alpha1.ConditionConnected, metav1.ConditionUnknown, tenancyv1alpha1.ReasonConnecting, "The first answer is awaited.")
		}
	case done.link.Phase == fleet.Connected:
		w.Set(tenancyv1alpha1.ConditionConnected, metav1.ConditionTrue, tenancyv1alpha1.ReasonConnected, "The API server answers.")
		w.status.Version = done.link.Version
		w.status.Endpoint = o.credentials.access.Server
		w.status.LastSeen = nil
		return
	case done.link.Phase == fleet.Unauthorized:
		w.Set(tenancyv1alpha1.ConditionConnected, metav1.ConditionFalse, tenancyv1alpha1.ReasonUnauthorized, o.expiring().Refusal(o.now, done.link.Message))
	default:
		w.Set(tenancyv1alpha1.ConditionConnected, metav1.ConditionFalse, tenancyv1alpha1.ReasonUnreachable, done.link.Message)
	}
	// Each try of a cluster that refuses its credentials is answered: that is told of the first.
	if w.Status(tenancyv1alpha1.ConditionConnected) != before && done.link != nil && !done.link.LastSeen.IsZero() {
		w.status.LastSeen = wholeSeconds(done.link.LastSeen)
	}
}

func isAwaited(link *fleet.State) bool {
	return link == nil || link.Phase == fleet.Connecting
}

// stands says whether what the status tells of the connection may stand until the first answer comes:
// a manager that restarts has nothing to tell yet.
func stands(w *writer) bool {
	connected := w.Get(tenancyv1alpha1.ConditionConnected)
	return connected != nil && connected.Reason != tenancyv1alpha1.ReasonNoAccess && w.status.ObservedGeneration == w.Generation
}

func reportIdentity(w *writer, p plan, done result) {
	switch {
	case done.claimed:
		w.Set(tenancyv1alpha1.ConditionIdentityConflict, metav1.ConditionTrue, tenancyv1alpha1.ReasonAlreadyRegistered, alreadyRegistered)
	case p.verdict.conflict():
		w.Set(tenancyv1alpha1.ConditionIdentityConflict, metav1.ConditionTrue, p.verdict.reason, p.verdict.message)
	case p.verdict.confirmed():
		w.Set(tenancyv1alpha1.ConditionIdentityConflict, metav1.ConditionFalse, p.verdict.reason, p.verdict.message)
	}
}

func reportExpiry(w *writer, o observation) {
	found := o.expiring()
	if o.credentials.problem != nil || found.ExpiresAt.IsZero() {
		w.status.KubeconfigExpiresAt = nil
		w.Remove(tenancyv1alpha1.ConditionCredentialsExpiring)
		return
	}
	w.status.KubeconfigExpiresAt = wholeSeconds(found.ExpiresAt)
	reason, message := found.Condition(o.now, w.Status(tenancyv1alpha1.ConditionCredentialsRenewed) == metav1.ConditionFalse)
	if reason == "" {
		w.Remove(tenancyv1alpha1.ConditionCredentialsExpiring)
		return
	}
	w.Set(tenancyv1alpha1.ConditionCredentialsExpiring, metav1.ConditionTrue, reason, message)
}

// nextDeadline is when the report changes though nothing else does.
func nextDeadline(o observation, p plan, done result, hands suspension.Suspension) time.Duration {
	var deadlines []time.Time
	if expires, known := o.expiresAt(); known && o.credentials.problem == nil {
		deadlines = append(deadlines, expires.Add(-o.expiryWarning), expires)
	}
	deadlines = append(deadlines, o.renewal.wakeAt(o)...)
	deadlines = append(deadlines, hands.Until, p.order.step.WakeAt, p.deletion.WakeAt, o.maintenance.ChangesAt())
	if done.order.Refused != "" {
		deadlines = append(deadlines, o.now.Add(retryRefused))
	}
	if done.claimed && len(o.duplicates) == 0 {
		// The cache does not show yet who holds the cluster, or that they no longer do.
		deadlines = append(deadlines, o.now.Add(time.Second))
	}
	var next time.Duration
	for _, deadline := range deadlines {
		if wait := deadline.Sub(o.now); wait > 0 {
			next = times.Sooner(next, wait)
		}
	}
	return next
}

// eventsFor tells of changes that people would otherwise miss.
func eventsFor(before, after tenancyv1alpha1.TenantClusterStatus) []eventRecord {
	var events []eventRecord
	if before.ClusterID != "" && after.ClusterID != "" && before.ClusterID != after.ClusterID {
		events = append(events, eventRecord{corev1.EventTypeNormal, "ClusterAccepted", "Accept",
			fmt.Sprintf("Cluster %s takes the place of %s, as annotated.", after.ClusterID, before.ClusterID)})
	}
	if meta.FindStatusCondition(before.Conditions, tenancyv1alpha1.ConditionUnrecordedObjects) == nil {
		if found := meta.FindStatusCondition(after.Conditions, tenancyv1alpha1.ConditionUnrecordedObjects); found != nil {
			events = append(events, eventRecord{corev1.EventTypeWarning, found.Type, "Observe", found.Message})
		}
	}
	events = append(events, renewalEvents(before, after)...)
	events = append(events, handoutEvents(before, after)...)
	expiring := conditions.News(before.Conditions, after.Conditions, tenancyv1alpha1.ConditionCredentialsExpiring)
	if expiring != nil && expiring.Status == metav1.ConditionTrue {
		events = append(events, eventRecord{corev1.EventTypeWarning, expiring.Type, "Observe", expiring.Message})
	}
	is := conditions.News(before.Conditions, after.Conditions, metav1alpha1.ConditionReady)
	if is == nil {
		return events
	}
	switch is.Status {
	case metav1.ConditionTrue:
		events = append(events, eventRecord{corev1.EventTypeNormal, is.Reason, "Connect", is.Message})
	case metav1.ConditionFalse:
		kind := corev1.EventTypeWarning
		if isMade(before, after, is.Reason) {
			kind = corev1.EventTypeNormal
		}
		events = append(events, eventRecord{kind, is.Reason, "Connect", is.Message})
	case metav1.ConditionUnknown:
		if is.Reason == metav1alpha1.ReasonClusterUnreachable {
			events = append(events, eventRecord{corev1.EventTypeWarning, is.Reason, "Connect", is.Message})
		}
	}
	return events
}

// isMade is whether a cluster is not ready because it is being made for the first time, and nothing is wrong.
func isMade(before, after tenancyv1alpha1.TenantClusterStatus, reason string) bool {
	early := func(phase tenancyv1alpha1.ClusterPhase) bool {
		return phase == "" || phase == tenancyv1alpha1.PhasePending || phase == tenancyv1alpha1.PhaseProvisioning
	}
	waits := reason == tenancyv1alpha1.ReasonProvisioning || reason == tenancyv1alpha1.ReasonNotAvailable
	return waits && early(before.Phase) && early(after.Phase)
}
