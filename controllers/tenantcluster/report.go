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
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/suspension"
)

// said is what people are told of one reconcile.
type said struct {
	status tenancyv1alpha1.TenantClusterStatus
	// changed: the status is not what it was.
	changed bool
	// happened are of what was done, whatever becomes of the status.
	happened []announcement
	events   []announcement
	// again is when a computed deadline comes; zero for none.
	again time.Duration
}

// announcement is a Kubernetes Event to be made.
type announcement struct {
	kind   string
	reason string
	action string
	note   string
}

// report turns everything into status and events. It is pure.
func report(seen observed, todo decision, done outcome) said {
	before := done.cluster.Status
	w := newWriter(before.DeepCopy(), done.cluster.Generation, seen.now)
	hands := suspension.Of(done.cluster.Spec.Suspend, done.cluster.Annotations, seen.now)

	if done.err != nil {
		todo.order = todo.order.undone()
	}
	if done.order.refused != nil {
		todo.order.problem, todo.order.turnedDown = done.order.refused, true
	}
	reportDeletion(w, todo, done)
	reportOrder(w, seen, todo.order)
	reportKubeconfig(w, seen)
	reportConnection(w, seen, done)
	reportIdentity(w, todo, done)
	reportExpiry(w, seen)
	reportUnrecorded(w, done)
	summarize(w, seen, todo, done, hands)
	reportOrphans(w, seen)
	w.status.Phase = phaseOf(w, seen)
	w.status.ClusterID = todo.clusterID
	w.status.ObservedGeneration = done.cluster.Generation
	reportTaken(w, todo.order, done.order)

	return said{
		status:   *w.status,
		changed:  !equality.Semantic.DeepEqual(before, *w.status),
		happened: orderEvents(seen, todo.order, done.order),
		events:   append(eventsFor(before, *w.status), deletionEvents(before, *w.status, todo.deletion)...),
		again:    nextDeadline(seen, todo, done, hands),
	}
}

func reportKubeconfig(w *writer, seen observed) {
	if problem := seen.credentials.problem; problem != nil {
		w.Set(tenancyv1alpha1.ConditionKubeconfigValid, metav1.ConditionFalse, problem.reason, problem.message)
		return
	}
	message := fmt.Sprintf("The kubeconfig in Secret %s was checked and is in use.", seen.credentials.secret.Name)
	if seen.credentials.secret.DeletionTimestamp != nil {
		message = fmt.Sprintf("Secret %s is being deleted; it is kept until this TenantCluster is deleted or uses another one.", seen.credentials.secret.Name)
	}
	w.Set(tenancyv1alpha1.ConditionKubeconfigValid, metav1.ConditionTrue, tenancyv1alpha1.ReasonKubeconfigAccepted, message)
}

func reportConnection(w *writer, seen observed, done outcome) {
	before := w.Status(tenancyv1alpha1.ConditionConnected)
	switch {
	case seen.credentials.problem != nil:
		w.Set(tenancyv1alpha1.ConditionConnected, metav1.ConditionFalse, tenancyv1alpha1.ReasonNoAccess, "There is no kubeconfig to connect with.")
		w.status.KubeconfigExpiresAt = nil
	case isAwaited(done.link):
		if !stands(w) {
			w.Set(tenancyv1alpha1.ConditionConnected, metav1.ConditionUnknown, tenancyv1alpha1.ReasonConnecting, "The first answer is awaited.")
		}
	case done.link.Phase == fleet.Connected:
		w.Set(tenancyv1alpha1.ConditionConnected, metav1.ConditionTrue, tenancyv1alpha1.ReasonConnected, "The API server answers.")
		w.status.Version = done.link.Version
		w.status.Endpoint = seen.credentials.access.Server
	case done.link.Phase == fleet.Unauthorized:
		w.Set(tenancyv1alpha1.ConditionConnected, metav1.ConditionFalse, tenancyv1alpha1.ReasonUnauthorized, done.link.Message)
	default:
		w.Set(tenancyv1alpha1.ConditionConnected, metav1.ConditionFalse, tenancyv1alpha1.ReasonUnreachable, done.link.Message)
	}
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

func reportIdentity(w *writer, todo decision, done outcome) {
	switch {
	case done.claimed:
		w.Set(tenancyv1alpha1.ConditionIdentityConflict, metav1.ConditionTrue, tenancyv1alpha1.ReasonAlreadyRegistered, alreadyRegistered)
	case todo.verdict.conflict():
		w.Set(tenancyv1alpha1.ConditionIdentityConflict, metav1.ConditionTrue, todo.verdict.reason, todo.verdict.message)
	case todo.verdict.confirmed():
		w.Set(tenancyv1alpha1.ConditionIdentityConflict, metav1.ConditionFalse, todo.verdict.reason, todo.verdict.message)
	}
}

// Reasons of CredentialsExpiring.
const (
	reasonExpiresSoon = "ExpiresSoon"
	reasonExpired     = "Expired"
)

func reportExpiry(w *writer, seen observed) {
	expires, known := seen.credentials.access.ExpiresAt()
	if seen.credentials.problem != nil || !known {
		w.status.KubeconfigExpiresAt = nil
		w.Remove(tenancyv1alpha1.ConditionCredentialsExpiring)
		return
	}
	w.status.KubeconfigExpiresAt = wholeSeconds(expires)
	at, secret := expires.UTC().Format(time.RFC3339), seen.credentials.secret.Name
	switch {
	case !seen.now.Before(expires):
		w.Set(tenancyv1alpha1.ConditionCredentialsExpiring, metav1.ConditionTrue, reasonExpired,
			fmt.Sprintf("The credentials in Secret %s expired at %s: put a kubeconfig with new ones there.", secret, at))
	case !seen.now.Before(expires.Add(-seen.expiryWarning)):
		w.Set(tenancyv1alpha1.ConditionCredentialsExpiring, metav1.ConditionTrue, reasonExpiresSoon,
			fmt.Sprintf("The credentials in Secret %s expire at %s: put a kubeconfig with new ones there before.", secret, at))
	default:
		w.Remove(tenancyv1alpha1.ConditionCredentialsExpiring)
	}
}

// nextDeadline is when the report changes though nothing else does.
func nextDeadline(seen observed, todo decision, done outcome, hands suspension.Suspension) time.Duration {
	var deadlines []time.Time
	if expires, known := seen.credentials.access.ExpiresAt(); known && seen.credentials.problem == nil {
		deadlines = append(deadlines, expires.Add(-seen.expiryWarning), expires)
	}
	deadlines = append(deadlines, hands.Until, todo.order.step.WakeAt, todo.deletion.WakeAt, seen.maintenance.changesAt())
	if done.order.refused != nil {
		deadlines = append(deadlines, seen.now.Add(retryRefused))
	}
	if done.claimed && len(seen.rivals) == 0 {
		// The cache does not show yet who holds the cluster, or that they no longer do.
		deadlines = append(deadlines, seen.now.Add(time.Second))
	}
	var next time.Duration
	for _, deadline := range deadlines {
		if wait := deadline.Sub(seen.now); wait > 0 && (next == 0 || wait < next) {
			next = wait
		}
	}
	return next
}

// eventsFor tells of changes that people would otherwise miss.
func eventsFor(before, after tenancyv1alpha1.TenantClusterStatus) []announcement {
	var events []announcement
	if before.ClusterID != "" && after.ClusterID != "" && before.ClusterID != after.ClusterID {
		events = append(events, announcement{corev1.EventTypeNormal, "ClusterAccepted", "Accept",
			fmt.Sprintf("Cluster %s takes the place of %s, as annotated.", after.ClusterID, before.ClusterID)})
	}
	if meta.FindStatusCondition(before.Conditions, tenancyv1alpha1.ConditionUnrecordedObjects) == nil {
		if found := meta.FindStatusCondition(after.Conditions, tenancyv1alpha1.ConditionUnrecordedObjects); found != nil {
			events = append(events, announcement{corev1.EventTypeWarning, found.Type, "Observe", found.Message})
		}
	}
	was, is := meta.FindStatusCondition(before.Conditions, metav1alpha1.ConditionReady), meta.FindStatusCondition(after.Conditions, metav1alpha1.ConditionReady)
	if was != nil && was.Status == is.Status && was.Reason == is.Reason {
		return events
	}
	switch is.Status {
	case metav1.ConditionTrue:
		events = append(events, announcement{corev1.EventTypeNormal, is.Reason, "Connect", is.Message})
	case metav1.ConditionFalse:
		events = append(events, announcement{corev1.EventTypeWarning, is.Reason, "Connect", is.Message})
	case metav1.ConditionUnknown:
		if is.Reason == metav1alpha1.ReasonClusterUnreachable {
			events = append(events, announcement{corev1.EventTypeWarning, is.Reason, "Connect", is.Message})
		}
	}
	return events
}
