package addonrelease

import (
	"fmt"
	"slices"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/brief"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/orphans"
)

// retryStalled is how long what needs a person is left alone before it is looked at again anyway.
const retryStalled = 5 * time.Minute

// report makes the new status from what was observed, planned and done, and from the inventory as it is
// afterwards. It is pure.
func report(o observed, p plan, done outcome, health map[objects.Key]fleet.Health) addonsv1alpha1.AddonReleaseStatus {
	next := *o.release.Status.DeepCopy()
	next.ObservedGeneration = o.release.Generation
	if o.unreachable != "" {
		reportUnreachable(&next, o)
		return next
	}
	next.Inventory = o.inventory.stored()
	next.ClusterID = string(o.clusterID)
	next.HandledRequest = o.request
	reportDrift(&next, o, p, done)
	trouble := judge(o, p, done)
	if trouble == nil {
		next.Drift.Rules = o.rulesVersion
	}
	if trouble == nil && o.complete(done) {
		next.InputsHash, next.Applying, next.Revision = o.inputs, "", o.release.Spec.Revision
	}
	applied := next.InputsHash == o.inputs && next.Applying == "" && trouble == nil && !o.recordPending
	reportApplied(&next, o, trouble, applied)
	culprit := firstUnhealthy(o.inventory, health)
	reportHealth(&next, o, applied, culprit)
	reportReady(&next, o, trouble, applied, culprit)
	return fitting(next, o)
}

// complete: the revision is in the cluster, and nothing else of ours is.
func (o observed) complete(done outcome) bool {
	return o.desiredKnown && !o.recordPending && !o.suspension.Active && len(done.removing) == 0 && o.release.DeletionTimestamp.IsZero()
}

// after is the inventory when a plan was carried out.
func (i inventory) after(done outcome) inventory {
	for _, w := range done.written {
		if w.result != nil {
			i[w.Key()] = entry{
				Ref: w.Ref, uid: w.result.UID, hash: w.hash, fingerprint: w.fingerprint,
				adopted: w.adopted || w.entry.adopted, kept: w.kept, external: w.external, environment: w.environment, yielded: w.yielded,
			}
		}
	}
	for _, w := range done.written {
		// A namespace of others is not watched. One that is gone is to be made again, if the source says so.
		key := objects.Key{GroupKind: objects.NamespaceKind, Name: w.Namespace}
		if namespace := i[key]; missesNamespace(w) && namespace.unwatched() {
			i[key] = entry{Ref: namespace.Ref, kept: namespace.kept, external: namespace.external}
		}
	}
	for _, e := range done.gone {
		delete(i, e.Key())
	}
	for _, e := range done.left {
		delete(i, e.Key())
	}
	return i
}

func reportApplied(next *addonsv1alpha1.AddonReleaseStatus, o observed, trouble *verdict, applied bool) {
	switch {
	case trouble != nil:
		set(next, o, addonsv1alpha1.ConditionApplied, metav1.ConditionFalse, trouble.reason, trouble.message)
	case applied:
		set(next, o, addonsv1alpha1.ConditionApplied, metav1.ConditionTrue, metav1alpha1.ReasonSucceeded,
			fmt.Sprintf("%d objects of revision %s", len(next.Inventory), next.Revision))
	case o.suspension.Active:
		set(next, o, addonsv1alpha1.ConditionApplied, metav1.ConditionFalse, metav1alpha1.ReasonSuspended,
			fmt.Sprintf("%s; revision %s waits", o.suspension, o.release.Spec.Revision))
	default:
		set(next, o, addonsv1alpha1.ConditionApplied, metav1.ConditionFalse, metav1alpha1.ReasonProgressing, "not applied yet")
	}
}

// unhealthy is an object that is not what kstatus calls Current.
type unhealthy struct {
	objects.Ref
	fleet.Health
}

// firstUnhealthy prefers what has failed to what is still on its way.
func firstUnhealthy(i inventory, health map[objects.Key]fleet.Health) *unhealthy {
	var first *unhealthy
	for _, e := range i.sorted() {
		is, known := health[e.Key()]
		if !known || is.Status == status.CurrentStatus {
			continue
		}
		if first == nil || is.Status == status.FailedStatus && first.Status != status.FailedStatus {
			first = &unhealthy{Ref: e.Ref, Health: is}
		}
	}
	return first
}

func (u unhealthy) reason() string {
	if u.Status == status.FailedStatus {
		return addonsv1alpha1.ReasonUnhealthy
	}
	return metav1alpha1.ReasonProgressing
}

func (u unhealthy) message() string {
	if u.Message == "" {
		return fmt.Sprintf("%s is %s", u.Ref, u.Status)
	}
	return fmt.Sprintf("%s: %s", u.Ref, u.Message)
}

func reportHealth(next *addonsv1alpha1.AddonReleaseStatus, o observed, applied bool, culprit *unhealthy) {
	switch {
	case culprit != nil:
		set(next, o, addonsv1alpha1.ConditionHealthy, metav1.ConditionFalse, culprit.reason(), culprit.message())
	case !applied:
		set(next, o, addonsv1alpha1.ConditionHealthy, metav1.ConditionUnknown, metav1alpha1.ReasonProgressing, "not every object is applied")
	case len(o.unknown) > 0:
		set(next, o, addonsv1alpha1.ConditionHealthy, metav1.ConditionUnknown, addonsv1alpha1.ReasonKindUnavailable, o.unknownKinds())
	default:
		set(next, o, addonsv1alpha1.ConditionHealthy, metav1.ConditionTrue, metav1alpha1.ReasonSucceeded, "every object is current")
	}
}

// reportReady sums up, the worst first.
func reportReady(next *addonsv1alpha1.AddonReleaseStatus, o observed, trouble *verdict, applied bool, culprit *unhealthy) {
	unset(next, metav1alpha1.ConditionStalled)
	unset(next, metav1alpha1.ConditionReconciling)
	drifted := meta.FindStatusCondition(next.Conditions, addonsv1alpha1.ConditionDrifted)
	switch {
	case !o.release.DeletionTimestamp.IsZero():
		progress(next, o, metav1alpha1.ReasonDeleting, deletionMessage(next, o, trouble))
	case trouble != nil && trouble.stalled:
		set(next, o, metav1alpha1.ConditionReady, metav1.ConditionFalse, trouble.reason, trouble.message)
		set(next, o, metav1alpha1.ConditionStalled, metav1.ConditionTrue, trouble.reason, trouble.message)
	case trouble != nil:
		progress(next, o, trouble.reason, trouble.message)
	case !applied && o.suspension.Active:
		set(next, o, metav1alpha1.ConditionReady, metav1.ConditionFalse, metav1alpha1.ReasonSuspended,
			fmt.Sprintf("%s; revision %s waits", o.suspension, o.release.Spec.Revision))
	case !applied:
		progress(next, o, metav1alpha1.ReasonProgressing, "applying revision "+o.release.Spec.Revision)
	case culprit != nil && culprit.Status == status.FailedStatus:
		set(next, o, metav1alpha1.ConditionReady, metav1.ConditionFalse, addonsv1alpha1.ReasonUnhealthy, culprit.message())
	case len(o.unknown) > 0:
		set(next, o, metav1alpha1.ConditionReady, metav1.ConditionUnknown, addonsv1alpha1.ReasonKindUnavailable, o.unknownKinds())
	case culprit != nil:
		progress(next, o, metav1alpha1.ReasonProgressing, culprit.message())
	case drifted != nil && drifted.Reason == addonsv1alpha1.ReasonFighting:
		progress(next, o, drifted.Reason, drifted.Message)
	default:
		set(next, o, metav1alpha1.ConditionReady, metav1.ConditionTrue, metav1alpha1.ReasonSucceeded, readyMessage(next, o, drifted))
	}
}

func readyMessage(next *addonsv1alpha1.AddonReleaseStatus, o observed, drifted *metav1.Condition) string {
	message := fmt.Sprintf("%d objects as declared", len(next.Inventory))
	if drifted != nil && drifted.Status == metav1.ConditionTrue {
		message = drifted.Message
	}
	if o.suspension.Active {
		message = o.suspension.String() + "; " + message
	}
	if o.suspension.Complaint != "" {
		message += "; " + o.suspension.Complaint
	}
	return message
}

// reportUnreachable leaves nothing green on old news.
func reportUnreachable(next *addonsv1alpha1.AddonReleaseStatus, o observed) {
	message, reason := o.unreachable, metav1alpha1.ReasonClusterUnreachable
	switch {
	case o.release.DeletionTimestamp.IsZero():
	case o.isLeft():
		reason = addonsv1alpha1.ReasonAbandoned
		message = fmt.Sprintf("%d objects are left in the cluster (%s): %s; the ledger %s lists them", len(o.inventory), names(o.inventory.sorted()), o.unreachable, orphans.Name)
	default:
		message = fmt.Sprintf("%d objects are still in the cluster (%s): %s; they are removed when it answers%s, or set the annotation %s: \"true\" to leave them",
			len(o.inventory), names(o.inventory.sorted()), o.unreachable, o.untilGivenUp(), metav1alpha1.AnnotationAbandon)
	}
	for _, condition := range []string{
		metav1alpha1.ConditionReady, addonsv1alpha1.ConditionApplied, addonsv1alpha1.ConditionHealthy, addonsv1alpha1.ConditionDrifted,
	} {
		set(next, o, condition, metav1.ConditionUnknown, reason, message)
	}
	unset(next, metav1alpha1.ConditionStalled)
	unset(next, metav1alpha1.ConditionReconciling)
}

// progress says not ready, and that somebody is at it.
func progress(next *addonsv1alpha1.AddonReleaseStatus, o observed, reason, message string) {
	set(next, o, metav1alpha1.ConditionReady, metav1.ConditionFalse, reason, message)
	set(next, o, metav1alpha1.ConditionReconciling, metav1.ConditionTrue, reason, message)
}

// maxMessage keeps one condition from filling the screen, in bytes; the API allows 32768.
const maxMessage = 1024

func set(next *addonsv1alpha1.AddonReleaseStatus, o observed, condition string, is metav1.ConditionStatus, reason, message string) {
	message = brief.Message(message, maxMessage)
	meta.SetStatusCondition(&next.Conditions, metav1.Condition{
		Type: condition, Status: is, Reason: reason, Message: message,
		ObservedGeneration: o.release.Generation, LastTransitionTime: metav1.NewTime(o.now),
	})
}

func unset(next *addonsv1alpha1.AddonReleaseStatus, condition string) {
	meta.RemoveStatusCondition(&next.Conditions, condition)
}

// due is when the release must be looked at again though nothing happens; zero for never.
func due(o observed, p plan, done outcome, next addonsv1alpha1.AddonReleaseStatus) time.Time {
	times := []time.Time{p.wakeAt, o.suspension.Until, done.wakeAt, o.departsAt()}
	if meta.IsStatusConditionTrue(next.Conditions, metav1alpha1.ConditionStalled) {
		times = append(times, o.now.Add(retryStalled))
	}
	for _, refused := range done.refusals {
		times = append(times, refused.until)
	}
	if o.problem != nil && !o.release.DeletionTimestamp.IsZero() {
		times = append(times, o.now.Add(retryStalled))
	}
	if done.recheck {
		times = append(times, o.now.Add(2*time.Second))
	}
	times = slices.DeleteFunc(times, time.Time.IsZero)
	if len(times) == 0 {
		return time.Time{}
	}
	return slices.MinFunc(times, time.Time.Compare)
}
