package policy

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daytwo-dev/daytwo/controllers/internal/policy/revision"
)

// follow brings the view of a policy up to date with what events named since the last time. Whatever fails, the next view
// is built anew.
func (r *Reconciler[P, T]) follow(ctx context.Context, policy P, now time.Time) (*view, error) {
	key := client.ObjectKeyFromObject(policy)
	known := r.views.of(key)
	changed := r.views.take(known)
	current, err := known.view, error(nil)
	known.view = nil
	if wanted := basisOf(policy, now); current == nil || changed.all || !current.basis.equal(wanted) || current.scope.lacks(changed.targets) {
		r.views.setScope(key, known, nil)
		current, err = r.builder(policy, now).build(ctx, wanted, client.MatchingFields{indexPolicy: policy.GetName()})
		if err == nil {
			r.views.setScope(key, known, current.scope)
		}
	} else {
		err = r.builder(policy, now).refresh(ctx, current, changed)
	}
	if err == nil && (changed.revisions || !current.listed) {
		err = r.listRevisions(ctx, policy, current)
	}
	if err != nil {
		return nil, err
	}
	known.view = current
	return current, nil
}

func (r *Reconciler[P, T]) listRevisions(ctx context.Context, policy P, view *view) error {
	owner, err := r.owner(policy)
	if err != nil {
		return err
	}
	view.stored, err = revision.List(ctx, r.Client, owner, client.MatchingFields{revisionIndex(owner.Kind): policy.GetName()})
	view.listed = err == nil
	return err
}
