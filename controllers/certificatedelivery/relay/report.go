package relay

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/truncate"
)

// State is what a delivery tells of its requests. The zero State is that nothing is known.
type State struct {
	// Generation of the delivery that it speaks of.
	Generation int64
	// Status, Reason and Message of the condition RequestsServed.
	Status  metav1.ConditionStatus
	Reason  string
	Message string
	// Failed: the delivery is not Ready.
	Failed bool
	// Summary of the requests; nil where they are not known.
	Summary *certificatesv1alpha1.RequestSummary
}

// IsKnown is whether the requests were looked at for a generation of the delivery.
func (s State) IsKnown(generation int64) bool { return s.Status != "" && s.Generation == generation }

func (s State) equals(other State) bool {
	if (s.Summary == nil) != (other.Summary == nil) {
		return false
	}
	a, b := s, other
	a.Summary, b.Summary = nil, nil
	return a == b && (s.Summary == nil || sameSummary(*s.Summary, *other.Summary))
}

func sameSummary(a, b certificatesv1alpha1.RequestSummary) bool {
	if (a.LastDenial == nil) != (b.LastDenial == nil) || a.LastDenial != nil && *a.LastDenial != *b.LastDenial {
		return false
	}
	a.LastDenial, b.LastDenial = nil, nil
	return a == b
}

func troubleState(o observation) State {
	return State{
		Generation: o.delivery.Generation, Status: metav1.ConditionFalse, Reason: o.trouble.reason, Message: o.trouble.message, Failed: !o.trouble.usable,
	}
}

// count counts a request as it is before it is answered.
func (d *decider) count(r request) {
	switch r.answer {
	case "":
		d.counts.Pending++
	case answerIssued:
		d.counts.Issued++
	default:
		d.counts.Denied++
		if d.counts.LastDenial == nil || r.answered.After(d.lastDenied) {
			d.lastDenied = r.answered
			d.counts.LastDenial = &certificatesv1alpha1.RequestDenial{Name: r.name, Message: r.message}
		}
	}
}

// state is what is told of requests that are answered.
func (d *decider) state() State {
	counts := d.counts
	told := State{
		Generation: d.delivery.Generation, Status: metav1.ConditionTrue, Reason: certificatesv1alpha1.ReasonServed, Summary: &counts,
		Message: "requests for " + d.policy.signer + " are answered",
	}
	switch {
	case d.blocked != "":
		told.Status, told.Reason, told.Message, told.Failed = metav1.ConditionFalse, certificatesv1alpha1.ReasonIssuanceFailed, d.blocked, true
	case d.incomplete:
		told.Status, told.Reason = metav1.ConditionFalse, certificatesv1alpha1.ReasonTooManyRequests
		told.Message = fmt.Sprintf("the cluster has more open requests for %s than the %d that are looked at, or larger ones: find out who makes them, and delete them; the others are answered", d.policy.signer, maxOpen)
	case d.limited > 0:
		told.Status, told.Reason = metav1.ConditionFalse, certificatesv1alpha1.ReasonRequestsLimited
		told.Message = fmt.Sprintf("%d requests wait: %d of at most %d are with the issuer, and %d of at most %d went there within an hour (spec.requestPolicy.maxPending, maxPerHour)",
			d.limited, d.pending, d.policy.maxPending, d.recent, d.policy.maxPerHour)
		if d.waiting != "" {
			told.Message += "; " + d.waiting
		}
	case d.waiting != "":
		told.Message += "; waiting for the issuer: " + d.waiting
	}
	told.Message = truncate.Cut(told.Message, maxMessage)
	return told
}
