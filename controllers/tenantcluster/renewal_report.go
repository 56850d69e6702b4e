package tenantcluster

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/conditions"
)

// reportRenewal tells what came of renewing the credentials. What was said of a failure stands until the next try ends.
func reportRenewal(w *writer, o observation) {
	r, kind := o.renewal, tenancyv1alpha1.ConditionCredentialsRenewed
	switch {
	case r.account == nil:
		w.Remove(kind)
	case r.failure != nil:
		w.Set(kind, metav1.ConditionFalse, r.failure.Reason, r.failure.Message+" "+inTheMeantime(o))
	case r.refused && r.token.IsGood(o.now):
		w.Set(kind, metav1.ConditionFalse, tenancyv1alpha1.ReasonTokenRefused, fmt.Sprintf(
			"The cluster refuses the token of ServiceAccount %s that was in use: see whether the ServiceAccount is there and has its rights. %s", r.account, inTheMeantime(o)))
	case r.inUse && (w.Status(kind) != metav1.ConditionFalse || !o.isDue()):
		w.Set(kind, metav1.ConditionTrue, tenancyv1alpha1.ReasonCredentialsRenewed, fmt.Sprintf(
			"A token of ServiceAccount %s is in use, and is renewed about %s.", r.token.Account, r.token.RenewAt(o.cluster.UID).UTC().Format(time.RFC3339)))
	case w.Get(kind) == nil || w.Status(kind) != metav1.ConditionFalse || w.Get(kind).ObservedGeneration != w.Generation:
		w.Set(kind, metav1.ConditionUnknown, tenancyv1alpha1.ReasonRenewalPending, fmt.Sprintf(
			"A token of ServiceAccount %s is requested as soon as the cluster is connected.", r.account))
	}
}

// renewalEvents tells when credentials begin to be renewed, and when that fails.
func renewalEvents(before, after tenancyv1alpha1.TenantClusterStatus) []eventRecord {
	is := conditions.News(before.Conditions, after.Conditions, tenancyv1alpha1.ConditionCredentialsRenewed)
	switch {
	case is == nil:
		return nil
	case is.Status == metav1.ConditionTrue:
		return []eventRecord{{corev1.EventTypeNormal, "CredentialsRenewed", "Renew", is.Message}}
	case is.Status == metav1.ConditionFalse:
		return []eventRecord{{corev1.EventTypeWarning, is.Reason, "Renew", is.Message}}
	}
	return nil
}

// isDue says whether a token should have been renewed by now.
func (o observation) isDue() bool {
	due := o.renewal.dueAt(o)
	return !due.IsZero() && !o.now.Before(due)
}

// inTheMeantime says what goes on being used, and how a person has it tried again.
func inTheMeantime(o observation) string {
	used, ends := fmt.Sprintf("The credentials in Secret %s are used", o.credentials.secret.Name), "they expire"
	if o.renewal.inUse {
		used, ends = "The token at hand is used", "it expires"
	}
	if expires, known := o.expiresAt(); known {
		used += fmt.Sprintf(" until %s at %s", ends, expires.UTC().Format(time.RFC3339))
	}
	return fmt.Sprintf("%s. It is tried again by itself, and at once with another value of the annotation %s.", used, metav1alpha1.AnnotationRequestedAt)
}
