package apply

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// maxDeletes is how often one reconcile sends the deletion of one object that the API server contradicts.
const maxDeletes = 3

// Removed is what came of one removal: it is gone, or stays because of something, or failed; or else it is on its way.
type Removed struct {
	Removal
	gone    bool
	because string
	err     error
}

// removalCluster is what a removal needs of its cluster.
type removalCluster interface {
	Confirm(ctx context.Context) error
	ServedRef(ctx context.Context, ref objects.Ref) (objects.Ref, bool, error)
	Find(ctx context.Context, ref objects.Ref) (*metav1.PartialObjectMetadata, error)
	Delete(ctx context.Context, ref objects.Ref, uid types.UID) error
	ContentOf(ctx context.Context, ref objects.Ref) (fleet.Blocker, error)
}

// remover removes objects from one cluster.
type remover struct {
	slice        *slice
	cluster      removalCluster
	installation string
	// owns is whether an object carries the marks of the target.
	owns func(object metav1.Object) bool
	now  time.Time
}

// claimOf says who else an object belongs to.
func claimOf(object metav1.Object, installation string, owns func(metav1.Object) bool) objects.Claim {
	if owns(object) {
		return objects.Claim{}
	}
	return objects.ClaimOf(object, installation)
}

// all carries removals out, some at a time, as far as the slice comes. One that fails does not stop the others.
func (r *remover) all(ctx context.Context, removals []Removal) []Removed {
	results := each(ctx, r.slice, removals, r.one)
	r.confirm(ctx, results)
	return results
}

// confirm asks who answers before anything counts as gone: in another cluster behind the same connection it never was.
func (r *remover) confirm(ctx context.Context, results []Removed) {
	if !slices.ContainsFunc(results, func(one Removed) bool { return one.gone }) {
		return
	}
	if err := r.cluster.Confirm(ctx); err != nil {
		for i, one := range results {
			if one.gone {
				results[i] = r.failed(one.Removal, fmt.Errorf("look up %s: %w", one.Ref, err))
			}
		}
	}
}

// one does what is next for one object.
func (r *remover) one(ctx context.Context, one Removal) Removed {
	switch one.next(r.now) {
	case leave:
		return Removed{Removal: one, because: "it is kept on purpose"}
	case await:
		if one.isTerminating() && one.seen.Object != nil {
			one.Deletion = Deletion{UID: one.UID, Sent: one.Deletion.Sent, why: finalizersOf(one.seen.Object)}
		}
		return Removed{Removal: one}
	case look:
		object, err := r.cluster.Find(ctx, one.Ref)
		if err != nil {
			return r.failed(one, fmt.Errorf("look up %s: %w", one.Ref, err))
		}
		return r.found(ctx, one, object)
	}
	if one.seen != nil && one.seen.Object != nil {
		if owner := claimOf(one.seen.Object, r.installation, r.owns).Owner; owner != "" {
			return Removed{Removal: one, because: "it belongs to " + owner}
		}
	}
	return r.ask(ctx, one)
}

// found goes on with an object that was looked at.
func (r *remover) found(ctx context.Context, one Removal, object *metav1.PartialObjectMetadata) Removed {
	owner := ""
	if object != nil {
		owner = claimOf(object, r.installation, r.owns).Owner
	}
	is := one.examine(object, r.installation, owner)
	if is == foundGone {
		return Removed{Removal: one, gone: true}
	}
	if is == foundOfOthers {
		return Removed{Removal: one, because: "it belongs to " + owner}
	}
	one.UID = object.UID
	switch {
	case one.isPrerequisite() && one.Adopted:
		return Removed{Removal: one, because: "it was there before"}
	case is == foundTerminating:
		return r.pending(one, finalizersOf(object))
	case one.isPrerequisite():
		return r.askIfEmpty(ctx, one)
	}
	return r.ask(ctx, one)
}

// ask sends a deletion. That the object is gone, or another one by now, is believed when it is seen: a conflict may
// have other reasons.
func (r *remover) ask(ctx context.Context, one Removal) Removed {
	ref, served, err := r.cluster.ServedRef(ctx, one.Ref)
	if err != nil {
		return r.failed(one, fmt.Errorf("look up %s: %w", one.Ref, err))
	}
	if !served {
		return Removed{Removal: one, gone: true}
	}
	for range maxDeletes {
		err = r.cluster.Delete(ctx, ref, one.UID)
		if err == nil {
			one.Deletion.Sent = true
			return r.pending(one, "")
		}
		if !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) && !meta.IsNoMatchError(err) {
			break
		}
		object, lookErr := r.cluster.Find(ctx, one.Ref)
		if lookErr != nil {
			return r.failed(one, fmt.Errorf("look up %s: %w", one.Ref, lookErr))
		}
		switch one.examine(object, r.installation, "") {
		case foundGone:
			return Removed{Removal: one, gone: true}
		case foundTerminating:
			return r.pending(one, finalizersOf(object))
		}
	}
	return r.failed(one, fmt.Errorf("delete %s: %s", one.Ref, Explain(one.Ref, err)), err)
}

// pending: the object is on its way, and is looked at again unless a watch tells.
func (r *remover) pending(one Removal, why string) Removed {
	one.Deletion.UID, one.Deletion.unansweredSince = one.UID, time.Time{}
	one.Deletion = one.Deletion.again(r.now, why)
	return Removed{Removal: one}
}

// failed: nothing is known to have happened.
func (r *remover) failed(one Removal, err error, cause ...error) Removed {
	since := one.Deletion.unansweredSince
	one.Deletion.UID, one.Deletion.unansweredSince = one.UID, time.Time{}
	if len(cause) > 0 && isWebhookSilent(cause[0]) {
		one.Deletion.unansweredSince = since
		if since.IsZero() {
			one.Deletion.unansweredSince = r.now
		}
	}
	return Removed{Removal: one, err: err}
}

// isWebhookSilent tells that the API server could not ask an admission webhook, from its text: the status has no
// reason of its own for that. A webhook that says no is another matter.
func isWebhookSilent(err error) bool {
	return apierrors.IsInternalError(err) && strings.Contains(err.Error(), "failed calling webhook")
}
