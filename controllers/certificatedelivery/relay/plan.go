package relay

import (
	"errors"
	"fmt"
	"slices"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/issuance"
)

const (
	// maxWrites is how many answers are written to a cluster at a time, so that one with many requests does not keep a worker.
	maxWrites = 20
	// window of maxPerHour. A CertificateRequest is kept for so long, since they are what is counted.
	window = time.Hour
	// orphanAge is when a CertificateRequest goes though it is not known whether somebody waits for it: clusters remove
	// requests after 24 h.
	orphanAge = 25 * time.Hour
	// tolerance is how much longer than asked for a certificate may be valid: issuers set its beginning back.
	tolerance = time.Hour
)

// Reasons of conditions in the cluster, beside those of denials.
const (
	reasonAllowed        = "AllowedByRequestPolicy"
	reasonIssuanceFailed = "IssuanceFailed"
)

// observation is everything that the other steps know of the requests of one delivery.
type observation struct {
	now time.Time
	// namespace of the delivery.
	namespace string
	// delivery as it is; nil if it is gone, or is not to answer requests.
	delivery  *certificatesv1alpha1.CertificateDelivery
	clusterID types.UID
	// trouble is why no request is answered; nil if nothing is in the way. Wait is that nothing is known to tell.
	trouble *trouble
	wait    bool
	policy  *policy
	// requests that the watch shows, the oldest first, with what came of their check.
	requests []checkedRequest
	// incomplete: there are more.
	incomplete bool
	// made are the CertificateRequests of the delivery, by name.
	made map[string]certificateRequest
}

// checkedRequest is a request and what came of its check, which only open ones have. They stay together: a cluster may show two
// requests with one UID.
type checkedRequest struct {
	request
	verdict
}

// verdict is what came of the check of a request.
type verdict struct {
	wanted asked
	denied *denial
}

// trouble is why requests are not answered.
type trouble struct {
	reason, message string
	// again is when to look again; zero for when something happens.
	again time.Time
	// usable: the delivery is Ready all the same.
	usable bool
}

// answer is what is written to a request in the cluster.
type answer struct {
	request
	// condition to add; empty for a certificate.
	condition       certificatesv1.RequestConditionType
	reason, message string
	certificate     []byte
}

// plan is what to do. The zero plan is to do nothing.
type plan struct {
	answers []answer
	create  []*unstructured.Unstructured
	// remove CertificateRequests by name.
	remove []string
	state  State
	// again is when to look again without being asked; zero for never.
	again time.Time
}

// newPlan decides what to do about what was observed. It is pure.
func newPlan(o observation) plan {
	switch {
	case o.delivery == nil:
		return plan{remove: o.names(func(certificateRequest) bool { return true })}
	case o.wait:
		return plan{}
	case o.trouble != nil:
		return plan{state: troubleState(o), again: o.trouble.again}
	}
	d := newDecider(o)
	for _, r := range o.requests {
		d.decide(r)
	}
	d.plan.remove = o.names(d.isDone)
	d.plan.state = d.state()
	d.wakeFor(o)
	return d.plan
}

// names of CertificateRequests, in order.
func (o observation) names(which func(certificateRequest) bool) (names []string) {
	for name, one := range o.made {
		if which(one) && !one.deleted {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// decider makes a plan, request by request.
type decider struct {
	observation
	plan plan
	// pending is how many are with the issuer, recent how many went there within the window.
	pending, recent int
	// used are the CertificateRequests of open requests.
	used map[string]bool
	// limited requests wait for others; left are answers that wait for the next time.
	limited, left int
	// waiting says what the issuer says of a request that is with it; blocked what keeps one from going there.
	waiting, blocked string
	counts           certificatesv1alpha1.RequestSummary
	lastDenied       time.Time
}

func newDecider(o observation) *decider {
	d := &decider{observation: o, used: map[string]bool{}}
	for _, one := range o.made {
		if o.now.Sub(one.created) < window {
			d.recent++
		}
		if one.object != nil && !stateOf(one.object).isFinal() {
			d.pending++
		}
	}
	return d
}

func (d *decider) decide(checked checkedRequest) {
	r := checked.request
	d.count(r)
	if !r.isOpen() {
		return
	}
	if checked.denied != nil {
		d.refuse(r, checked.denied.reason, checked.denied.message)
		return
	}
	name := certificateRequestName(d.delivery, d.clusterID, r, checked.wanted, d.policy)
	d.used[name] = true
	desired := desiredCertificateRequest(d.delivery, name, r, checked.wanted, d.policy)
	made, is := d.made[name]
	switch {
	case !is && !d.takePlace():
		d.limited++
	case !is && !r.approved:
		d.approve(r)
	case !is:
		d.plan.create = append(d.plan.create, desired)
	case made.object == nil: // It is about to show.
	case !isAsDesired(made.object, desired):
		d.blocked = fmt.Sprintf("CertificateRequest %s/%s is in the way of a request: somebody else made it; delete it", d.delivery.Namespace, name)
	default:
		d.take(r, checked.wanted, made)
	}
}

func (d *decider) approve(r request) {
	d.add(answer{
		request: r, condition: certificatesv1.CertificateApproved, reason: reasonAllowed,
		message: "its names, usages and key are allowed by the requestPolicy of the CertificateBundle",
	})
}

// takePlace takes a place at the issuer for a request; false if there is none.
func (d *decider) takePlace() bool {
	if d.pending >= d.policy.maxPending || d.recent >= d.policy.maxPerHour {
		return false
	}
	d.pending++
	d.recent++
	return true
}

// take takes what the issuer issued, if it is what was asked for.
func (d *decider) take(r request, wanted asked, made certificateRequest) {
	state := stateOf(made.object)
	switch {
	case state.failed:
		d.refuse(r, reasonIssuanceFailed, "the issuer issued nothing: "+state.message)
		return
	case !state.issued:
		d.waiting = fmt.Sprintf("CertificateRequest %s/%s: %s", made.object.GetNamespace(), made.name, state.message)
		return
	case !r.approved:
		d.approve(r) // A restored cluster knows nothing of the approval.
		return
	}
	err := checkIssued(state, wanted, d.now)
	var problem *issuance.Problem
	switch {
	case err == nil:
		d.add(answer{request: r, certificate: state.certificate})
	case errors.As(err, &problem) && problem.Until.After(d.now):
		d.waiting = problem.Message
		d.wakeAt(problem.Until.Add(time.Second))
	default:
		d.refuse(r, certificatesv1alpha1.ReasonCertificateRefused, "the issuer issued something else than was asked for: "+err.Error())
	}
}

// checkIssued looks whether a certificate is the one that was asked for.
func checkIssued(state certificateRequestState, wanted asked, now time.Time) error {
	issued, err := issuance.CheckSigned(issuance.Signed{Certificate: state.certificate, CA: state.ca, Public: wanted.public}, wanted.Request, now)
	if err != nil {
		return err
	}
	if lifetime := issued.NotAfter.Sub(issued.NotBefore); lifetime > wanted.duration+tolerance {
		return fmt.Errorf("it is valid for %s, longer than %s: use an issuer that keeps to the duration that it is asked for, or allow more in spec.requestPolicy.maxDuration", lifetime, wanted.duration)
	}
	return nil
}

// refuse denies a request. One that somebody approved cannot be denied any more, and fails.
func (d *decider) refuse(r request, reason, message string) {
	condition := certificatesv1.CertificateDenied
	if r.approved {
		condition = certificatesv1.CertificateFailed
	}
	d.add(answer{request: r, condition: condition, reason: reason, message: message})
}

func (d *decider) add(one answer) {
	if len(d.plan.answers) == maxWrites {
		d.left++
		return
	}
	d.plan.answers = append(d.plan.answers, one)
}

// isDone is whether nobody waits for a CertificateRequest any more, and it does not count.
func (d *decider) isDone(one certificateRequest) bool {
	age := d.now.Sub(one.created)
	return !d.used[one.name] && age >= window && (!d.incomplete || age >= orphanAge)
}

func (d *decider) wakeAt(at time.Time) {
	if d.plan.again.IsZero() || at.Before(d.plan.again) {
		d.plan.again = at
	}
}

// wakeFor the answers that are left, and for CertificateRequests that come of age.
func (d *decider) wakeFor(o observation) {
	if d.left > 0 {
		d.wakeAt(o.now)
	}
	for _, one := range o.made {
		if at := one.created.Add(window); at.After(o.now) {
			d.wakeAt(at)
		}
	}
}
