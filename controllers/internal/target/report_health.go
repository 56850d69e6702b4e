package target

import (
	"fmt"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/standstill"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// unhealthy is an object that is not what kstatus calls Current.
type unhealthy struct {
	objects.Ref
	tracker.Health
	// since when it has been so, if that is a while; zero otherwise.
	since time.Time
	// why is what its pods say about it; empty for nothing.
	why string
}

// standing adds for how long, and why, if that was found out about the object.
func (u *unhealthy) standing(found standstill.Standstill) *unhealthy {
	if u != nil && found.Object == u.Ref {
		u.since, u.why = found.Since, found.Why
	}
	return u
}

// firstUnhealthy prefers what has failed to what is still on its way, and then what comes first by name.
func firstUnhealthy(i apply.Inventory, health map[objects.Key]tracker.Health) *unhealthy {
	var first *unhealthy
	for _, e := range i {
		is, known := health[e.Key()]
		if !known || is.Status == status.CurrentStatus {
			continue
		}
		if found := (&unhealthy{Ref: e.Ref, Health: is}); first == nil || found.isBefore(first) {
			first = found
		}
	}
	return first
}

func (u *unhealthy) isBefore(other *unhealthy) bool {
	if failed := u.Status == status.FailedStatus; failed != (other.Status == status.FailedStatus) {
		return failed
	}
	return u.ID() < other.ID()
}

func (u unhealthy) reason() string {
	if u.Status == status.FailedStatus {
		return metav1alpha1.ReasonUnhealthy
	}
	if !u.since.IsZero() {
		return metav1alpha1.ReasonStandstill
	}
	return metav1alpha1.ReasonProgressing
}

func (u unhealthy) message() string {
	message := fmt.Sprintf("%s: %s", u.Ref, u.Message)
	if u.Message == "" {
		message = fmt.Sprintf("%s is %s", u.Ref, u.Status)
	}
	if u.why != "" {
		message += "; " + u.why
	}
	if !u.since.IsZero() {
		message += "; since " + u.since.UTC().Format(time.RFC3339)
	}
	return message
}

// healthOf says what has failed of that which is applied, and what of it is awaited; nil for nothing.
func healthOf(f Findings, worst *unhealthy) (failed, awaited *Verdict) {
	switch {
	case worst != nil && worst.Status == status.FailedStatus:
		return &Verdict{Reason: worst.reason(), Message: worst.message()}, nil
	case f.Unhealthy != nil && f.Unhealthy.Stalled:
		return f.Unhealthy, nil
	case f.Unhealthy != nil:
		return nil, f.Unhealthy
	case worst != nil:
		return nil, &Verdict{Reason: worst.reason(), Message: worst.message()}
	}
	return nil, nil
}

func reportHealth(next Status, f Findings, applied bool, worst *unhealthy) {
	o := f.Observation
	switch {
	case worst != nil:
		next.set(o, metav1alpha1.ConditionHealthy, metav1.ConditionFalse, worst.reason(), worst.message())
	case !applied:
		next.set(o, metav1alpha1.ConditionHealthy, metav1.ConditionUnknown, metav1alpha1.ReasonProgressing, "not every object is applied")
	case f.Unhealthy != nil:
		next.set(o, metav1alpha1.ConditionHealthy, metav1.ConditionFalse, f.Unhealthy.Reason, f.Unhealthy.Message)
	case len(o.Unknown) > 0:
		next.set(o, metav1alpha1.ConditionHealthy, metav1.ConditionUnknown, metav1alpha1.ReasonKindUnavailable, o.UnknownKinds())
	default:
		next.set(o, metav1alpha1.ConditionHealthy, metav1.ConditionTrue, metav1alpha1.ReasonSucceeded, "every object is current")
	}
}
