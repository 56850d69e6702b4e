package policy

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/plural"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/trial"
)

// TriedKind is a Kind whose content can be tried for a cluster before any cluster gets it, without a request to the cluster.
type TriedKind interface {
	// Trial reads a revision, and returns what tries it for one cluster. It is called beside reconciles, and may take long.
	Trial(ctx context.Context, revision types.NamespacedName) (trial.Try, error)
}

// observeTrial finds out whether the content can be used for any cluster. Content that can be used for none takes no slot.
func (r *Reconciler[P, T]) observeTrial(o *observation[P, T]) {
	if _, tried := r.Kind.(TriedKind); !tried || o.snapshot == nil || o.stall != nil && !o.stall.Usable {
		return
	}
	o.trial = r.trials.Of(o.policy, o.snapshot.Name, o.view.clusters, o.view.targets, o.now)
	if refused := o.trial.Refused; refused != nil {
		o.refuse(&Stall{Reason: metav1alpha1.ReasonContentInvalid, Message: fmt.Sprintf(
			"the content of %s %s was tried for %s, and can be used for none (first %s): %s",
			kindName(r.Client, o.policy), o.policy.GetName(), plural.Of(refused.Tried, "cluster"), refused.Cluster.Name, refused.Message)})
	}
}

// startTrial begins the trial that is planned, of content that is stored.
func (r *Reconciler[P, T]) startTrial(o *observation[P, T]) {
	kind, tried := r.Kind.(TriedKind)
	if !tried || len(o.trial.Start) == 0 {
		return
	}
	revision := types.NamespacedName{Namespace: o.policy.GetNamespace(), Name: o.snapshot.Name}
	r.trials.Start(o.trial, o.now, func(ctx context.Context) (trial.Try, error) { return kind.Trial(ctx, revision) })
}

// forgetTrial ends a trial of a policy that is gone.
func (r *Reconciler[P, T]) forgetTrial(policy client.ObjectKey) {
	if r.trials != nil {
		r.trials.Forget(policy)
	}
}
