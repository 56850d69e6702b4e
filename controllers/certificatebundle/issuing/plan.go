package issuing

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/certificatebundle/authority"
	"github.com/daytwo-dev/daytwo/controllers/internal/certificatecontent"
	"github.com/daytwo-dev/daytwo/controllers/internal/issuance"
	"github.com/daytwo-dev/daytwo/controllers/internal/optionalkind"
)

// lookAgain is when a certificate is looked at again of which cert-manager is missing, or which stands in the way of another.
const lookAgain = time.Minute

// plan is what to do for one certificate. The zero plan is to do nothing.
type plan struct {
	// needsIssuer: the Issuer of the bundle's own authority has to be there.
	needsIssuer bool
	// create or update the Certificate; nil for neither.
	create, update *unstructured.Unstructured
	// keep what was issued; nil for nothing.
	keep *corev1.Secret
	// removeCertificate, with the Secrets: cert-manager's, and issuances.
	removeCertificate bool
	removeSecrets     []string
	// state to tell.
	state State
	// again is when to look again without being asked; zero for never.
	again time.Time
}

// State of a certificate, as far as it is not issued as it is asked for. The zero State is that it is.
type State struct {
	// Reason is one of the reasons of the condition Issued; empty if the certificate is issued.
	Reason  string
	Message string
	// refusedSource is what was looked at and refused. otherAuthority: it is from another one than the bundle's own.
	refusedSource  string
	otherAuthority bool
}

// IsPending is whether the certificate is awaited, and nothing has failed.
func (s State) IsPending() bool { return s.Reason == certificatesv1alpha1.ReasonIssuancePending }

// newPlan decides what to do about what was observed. It reads nothing and writes nothing.
func newPlan(o observation) plan {
	switch {
	case o.bundle == nil:
		return removal(o, func(string) bool { return false })
	case !o.bundle.DeletionTimestamp.IsZero(), o.gone && o.needed:
		return plan{} // Targets need what they have until they are gone.
	case o.undecided && o.needed:
		return plan{state: o.before} // What is there stays as it is.
	case !o.needed && o.selected:
		return plan{} // Nobody asked for it yet.
	case !o.needed:
		return removal(o, func(name string) bool { return o.inUse[name] })
	case o.refused != nil:
		return plan{state: State{Reason: certificatesv1alpha1.ReasonIssuanceFailed, Message: o.refused.Error()}}
	}
	p := planIssuance(o)
	p.needsIssuer = needsIssuer(o, p)
	current := Current(o.issuances, o.bundle.Spec.RollbackTo, o.requestHash(), o.now)
	p.removeSecrets = append(p.removeSecrets, prunable(o.issuances, int(max(o.bundle.Spec.HistoryLimit, 1)), func(name string) bool {
		return o.inUse[name] || current != nil && current.Name == name || slices.Contains(o.bundle.Spec.RollbackTo, name)
	})...)
	return p
}

// needsIssuer is whether cert-manager is about to issue from the bundle's own authority.
func needsIssuer(o observation, p plan) bool {
	if o.authority.Generation == 0 || o.presence == optionalkind.NotInstalled {
		return false
	}
	is := stateOf(o.certificate)
	return !is.ready || is.issuing || p.update != nil || p.state.Reason != ""
}

// removal removes everything that was made for a certificate, apart from issuances that are in use.
func removal(o observation, keep func(name string) bool) plan {
	p := plan{removeCertificate: o.certificate != nil && isOurs(o.certificate, o.key)}
	if o.source != "" { // cert-manager leaves its Secret when a Certificate goes.
		p.removeSecrets = append(p.removeSecrets, o.key.name())
	}
	for _, one := range o.issuances {
		if !keep(one.Name) {
			p.removeSecrets = append(p.removeSecrets, one.Name)
		}
	}
	return p
}

// planIssuance asks cert-manager for the certificate, and takes what it issued.
func planIssuance(o observation) plan {
	desired := desiredCertificate(o)
	switch {
	case o.presence == optionalkind.NotInstalled:
		return plan{again: o.now.Add(lookAgain), state: o.notIssued(certificatesv1alpha1.ReasonCertManagerUnavailable,
			"cert-manager is not installed in the management cluster: install it, or use mode TrustOnly")}
	case o.certificate == nil:
		return plan{create: desired, state: o.notIssued(certificatesv1alpha1.ReasonIssuancePending, "waiting for cert-manager")}
	case !isOurs(o.certificate, o.key):
		return plan{again: o.now.Add(lookAgain), state: o.notIssued(certificatesv1alpha1.ReasonIssuanceFailed, fmt.Sprintf(
			"Certificate %s/%s is in the way: somebody else made it; delete it", o.key.Bundle.Namespace, o.key.name()))}
	case !isAsDesired(o.certificate, desired):
		changed := o.certificate.DeepCopy()
		changed.Object["spec"] = desired.Object["spec"]
		changed.SetLabels(desired.GetLabels())
		return plan{update: changed, state: o.notIssued(certificatesv1alpha1.ReasonIssuancePending, "waiting for cert-manager")}
	}
	return planTaking(o)
}

// planTaking takes what cert-manager issued, if it is what was asked for.
func planTaking(o observation) plan {
	is := stateOf(o.certificate)
	pending := o.notIssued(certificatesv1alpha1.ReasonIssuancePending, strings.TrimSuffix(fmt.Sprintf(
		"waiting for cert-manager to issue Certificate %s, whose CertificateRequest may tell more: %s", o.key.object(o.key.name()), is.message), ": "))
	if is.failure != "" && !is.ready {
		pending = o.notIssued(certificatesv1alpha1.ReasonIssuanceFailed, fmt.Sprintf(
			"cert-manager says of Certificate %s: %s", o.key.object(o.key.name()), is.failure))
	}
	if o.material == nil {
		switch {
		case o.before.refusedSource == "" || o.before.refusedSource != o.refusalOf(o.source):
			return plan{state: pending}
		case o.before.otherAuthority: // Nothing else has cert-manager issue it again, now that the Issuer is as it should be.
			return plan{state: o.before, removeSecrets: []string{o.key.name()}}
		}
		return plan{state: o.before}
	}
	issued, err := o.check()
	var problem *issuance.Problem
	switch {
	case err == nil:
		kept := newIssuance(o.bundle, o.key, *o.material, issued, o.requestHash(), o.source)
		kept.Name += certificatecontent.GenerationMark(o.authority.Generation)
		return plan{keep: kept}
	case !is.ready:
		return plan{state: pending} // cert-manager is about to replace it.
	case errors.As(err, &problem) && problem.Until.After(o.now):
		state := o.notIssued(certificatesv1alpha1.ReasonCertificateRefused, problem.Message)
		return plan{state: state, again: problem.Until.Add(time.Second)}
	}
	state := o.notIssued(certificatesv1alpha1.ReasonCertificateRefused, "the issuer issued something else than was asked for, which goes into no cluster: "+err.Error())
	state.refusedSource = o.refusalOf(o.source)
	if state.otherAuthority = errors.Is(err, authority.ErrOther); state.otherAuthority {
		return plan{state: state, again: o.now.Add(lookAgain)}
	}
	return plan{state: state}
}

// refusalOf tells what was refused, and as what, from anything else.
func (o *observation) refusalOf(source string) string {
	return source + o.requestHash() + o.authority.Anchor
}

// check passes what was issued if it is what was asked for, of whom it was asked.
func (o *observation) check() (issuance.Issued, error) {
	issued, err := issuance.Check(*o.material, o.request, o.now)
	if err == nil && o.authority.Generation != 0 {
		err = authority.Check(o.material.CA, o.authority.Anchor)
	}
	return issued, err
}

// notIssued is a state, unless a certificate is there that is as it is asked for and was not to be renewed.
func (o *observation) notIssued(reason, message string) State {
	current := Current(o.issuances, nil, o.requestHash(), o.now)
	failed := reason != certificatesv1alpha1.ReasonIssuancePending
	if current != nil && !failed {
		return State{}
	}
	return State{Reason: reason, Message: message}
}
