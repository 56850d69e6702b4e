package policy

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/news"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
	"github.com/daytwo-dev/daytwo/controllers/internal/secretaccess"
)

// tellUnreadable ends a reconcile that could not read everything. A policy whose Secrets the manager may not read says so, and its
// targets stay as they are: which revisions are stored, and what its references hold, is not known then.
func (r *Reconciler[P, T]) tellUnreadable(ctx context.Context, policy P, err error, now time.Time) (reconcile.Result, error) {
	denied := secretaccess.Of(err)
	if denied == nil {
		return reconcile.Result{}, err
	}
	changed := statusOnly(r.Kind, policy)
	status := changed.GetPolicyStatus()
	status.ObservedGeneration = policy.GetGeneration()
	verdict := rollout.Verdict{
		Ready: metav1.ConditionFalse, Reason: metav1alpha1.ReasonSecretsNotReadable, Stalled: true,
		Message: denied.Error() + "; until then targets stay as they are",
	}
	verdict.Write(&status.Conditions, policy.GetGeneration(), now)
	events := news.OfStatus(policy.GetPolicyStatus(), status)
	if _, err := r.publish(ctx, policy, report[P]{status: changed, events: events, failed: true}, now); err != nil && !apierrors.IsConflict(err) {
		return reconcile.Result{}, err
	}
	return secretaccess.Retry(denied)
}
