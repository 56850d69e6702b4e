package certificatedelivery

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/certificatecontent"
	"github.com/daytwo-dev/daytwo/controllers/internal/conditions"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/recordable"
	"github.com/daytwo-dev/daytwo/controllers/internal/times"
)

const (
	// warnPart is which part of its life a certificate has left when it expires soon: half of the third in which cert-manager
	// renews by default, so that a renewal had time.
	warnPart = 6
	// lookForCorrection is when a cluster is looked at again in which something was corrected.
	lookForCorrection = time.Second
	// warnAnchors is how long before their end anchors expire soon: somebody has to make and hand out new ones.
	warnAnchors = 30 * 24 * time.Hour
)

// Size implements target.StagedKind: a certificate, anchors, a probe, a denied request, up to 32 selectors of namespaces, and whose
// users are restarted.
func (r *Reconciler) Size(o *observation) int {
	size := 5*1024 + 10*512 + 32*certificatecontent.MaxSelector
	if told := o.Extra.declared; told != nil {
		size += recordable.SizeOf(told.reload)
	}
	return size
}

// Forget implements target.StagedKind.
func (r *Reconciler) Forget(status *certificatesv1alpha1.CertificateDeliveryStatus) {
	status.Certificate, status.Anchors, status.NamespaceSelectors, status.Namespaces = nil, nil, nil, ""
	if status.Authority != nil { // It names the other cluster.
		status.Authority.AnchorHash, status.Authority.TrustSince = "", metav1.Time{}
	}
	status.Requests = nil
	status.Reload, status.Probe = nil, nil
}

// Outcome implements target.StagedKind.
func (r *Reconciler) Outcome(o *observation) outcome {
	written := r.Clock.Now()
	result := outcome{
		Conclude: func(status *certificatesv1alpha1.CertificateDeliveryStatus) { conclude(o, status, written) },
		DueBy:    func(status *certificatesv1alpha1.CertificateDeliveryStatus) time.Time { return beginsAt(o, status) },
	}
	if hasDifference(o) && o.Drift.Mode == metav1alpha1.DriftCorrect && !o.Suspension.Active && len(o.Contentions) == 0 {
		result.Due = append(result.Due, o.Now.Add(lookForCorrection))
	}
	status := o.Status.DeepCopy()
	tellDeclared(o.Extra.declared, status)
	f := expiryOf(status, o.Now)
	result.Due = append(result.Due, f.due, o.Extra.again, o.Extra.reload.again, o.Extra.probe.again)
	if f.reason == certificatesv1alpha1.ReasonExpired {
		result.Unhealthy = &target.Verdict{Reason: f.reason, Message: f.message}
	}
	if result.Unhealthy == nil && o.Extra.unseen != nil {
		result.Unhealthy = o.Extra.unseen
	}
	if result.Unhealthy == nil {
		result.Unhealthy = requestsTrouble(o)
	}
	concludeRequests(o, status)
	result.Summary = summaryOf(status)
	return result
}

// isApplied is whether what was declared is in the cluster now, all of it. Until then a status tells of what was there before.
func isApplied(o *observation, status *certificatesv1alpha1.CertificateDeliveryStatus) bool {
	return o.Unreachable == "" && status.InputsHash == o.Inputs && status.Applying == "" &&
		meta.IsStatusConditionTrue(status.Conditions, metav1alpha1.ConditionApplied)
}

// tellDeclared tells what was declared.
func tellDeclared(told *declared, status *certificatesv1alpha1.CertificateDeliveryStatus) {
	if told == nil {
		return
	}
	before := status.Certificate
	status.Certificate, status.Anchors = told.certificate, told.anchors
	status.NamespaceSelectors, status.Namespaces = told.selectors, told.namespaces
	tellReload(told, before, status)
}

// summaryOf says what is in the cluster; empty for how many objects there are.
func summaryOf(status *certificatesv1alpha1.CertificateDeliveryStatus) string {
	switch delivered, anchors := status.Certificate, status.Anchors; {
	case delivered != nil:
		return "the certificate expires at " + delivered.NotAfter.UTC().Format(time.RFC3339)
	case status.Requests != nil:
		return requestsIn(status.Requests)
	case anchors != nil:
		return countOf(anchors)
	}
	return ""
}

// expiry is how long what is in the cluster holds.
type expiry struct {
	status          metav1.ConditionStatus
	reason, message string
	// due is when it is something else; zero for never.
	due time.Time
}

// expiryOf is that of the certificate and the anchors, whichever is worse.
func expiryOf(status *certificatesv1alpha1.CertificateDeliveryStatus, now time.Time) expiry {
	worst := expiry{status: metav1.ConditionFalse, reason: certificatesv1alpha1.ReasonValid, message: "nothing expires soon"}
	consider := func(what string, warnAt, end time.Time) {
		switch {
		case !now.Before(end):
			worst = expiry{metav1.ConditionTrue, certificatesv1alpha1.ReasonExpired, fmt.Sprintf("%s expired at %s", what, end.UTC().Format(time.RFC3339)), worst.due}
		case !now.Before(warnAt):
			if worst.reason != certificatesv1alpha1.ReasonExpired {
				worst.status, worst.reason, worst.message = metav1.ConditionTrue, certificatesv1alpha1.ReasonExpiringSoon, fmt.Sprintf("%s expires at %s", what, end.UTC().Format(time.RFC3339))
			}
			worst.due = times.Earliest(worst.due, end)
		default:
			worst.due = times.Earliest(worst.due, warnAt)
		}
	}
	if delivered := status.Certificate; delivered != nil {
		life := delivered.NotAfter.Sub(delivered.NotBefore.Time)
		consider("the certificate", delivered.NotAfter.Add(-life/warnPart), delivered.NotAfter.Time)
		if chain := delivered.ChainNotAfter; chain != nil {
			consider("an authority above the certificate", chain.Add(-warnAnchors), chain.Time)
		}
	}
	if anchors := status.Anchors; anchors != nil && anchors.Expires != nil {
		consider("a trust anchor", anchors.Expires.Add(-warnAnchors), anchors.Expires.Time)
	}
	return worst
}

// conclude tells the conditions that follow from everything else.
func conclude(o *observation, status *certificatesv1alpha1.CertificateDeliveryStatus, written time.Time) {
	concludeRequests(o, status)
	if isApplied(o, status) {
		tellDeclared(o.Extra.declared, status)
	}
	list := conditions.List{Conditions: &status.Conditions, Generation: o.Target.Generation, Now: o.Now}
	f := expiryOf(status, o.Now)
	list.Set(certificatesv1alpha1.ConditionExpiringSoon, f.status, f.reason, f.message)
	tell := func(kind string, delivered bool, message, leftOut string) {
		if !delivered {
			list.Remove(kind)
			return
		}
		state, reason, why := readBack(o, status)
		if state == metav1.ConditionTrue {
			why = message
		}
		if leftOut != "" {
			why += "; " + leftOut
		}
		list.Set(kind, state, reason, why)
	}
	certificate, anchors := "", ""
	if status.Certificate != nil {
		certificate = "the certificate " + status.Certificate.SerialNumber + " was read back"
	}
	if status.Anchors != nil {
		anchors = countOf(status.Anchors) + " in every place that the bundle names"
	}
	if len(status.Inventory) == 0 {
		certificate, anchors = nowhere, nowhere
	}
	tell(certificatesv1alpha1.ConditionDistributed, status.Certificate != nil || o.Target.Spec.Content != "", certificate, "")
	tell(certificatesv1alpha1.ConditionTrustDistributed, status.Anchors != nil, anchors, leftOut(o, list))
	concludeAuthority(o, status, written)
	concludeReload(o, status, list)
}

// nowhere is told where the bundle has no object in the cluster.
const nowhere = "no namespace of the cluster is selected"

// countOf anchors, for people.
func countOf(anchors *certificatesv1alpha1.AnchorSummary) string {
	if anchors.Count == 1 {
		return "1 trust anchor"
	}
	return fmt.Sprintf("%d trust anchors", anchors.Count)
}

// leftOut is what the cluster does not serve; empty for nothing. Where nothing was declared this time, it is what was told before.
func leftOut(o *observation, list conditions.List) string {
	if o.Extra.declared != nil {
		return o.Extra.declared.leftOut
	}
	if before := list.Get(certificatesv1alpha1.ConditionTrustDistributed); before != nil && strings.HasSuffix(before.Message, notServed) {
		return notServed
	}
	return ""
}

// readBack is whether everything that is to be in the cluster was read back from there.
func readBack(o *observation, status *certificatesv1alpha1.CertificateDeliveryStatus) (metav1.ConditionStatus, string, string) {
	if o.Unreachable != "" {
		return metav1.ConditionUnknown, o.UnreachableReason(), o.Unreachable
	}
	applied := meta.FindStatusCondition(status.Conditions, metav1alpha1.ConditionApplied)
	if applied == nil || applied.Status != metav1.ConditionTrue {
		reason, message := certificatesv1alpha1.ReasonNotDistributed, "not applied yet"
		if applied != nil {
			reason, message = applied.Reason, applied.Message
		}
		return metav1.ConditionFalse, reason, message
	}
	if acknowledged := status.Acknowledged; acknowledged != nil && acknowledged.Generation == o.Target.Generation || len(status.Inventory) == 0 {
		return metav1.ConditionTrue, certificatesv1alpha1.ReasonDistributed, ""
	}
	return metav1.ConditionFalse, certificatesv1alpha1.ReasonNotDistributed, "not everything was read back yet"
}
