package addonrelease

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
)

// leftover is a namespace or definition that was not removed, and why.
type leftover struct {
	entry
	because string
}

// removeFoundation removes a namespace or a definition that Daytwo made, if nothing else is in it. What
// others put there is worth more than tidiness.
func (r *Reconciler) removeFoundation(ctx context.Context, o observed, one removal, cluster *fleet.Cluster, done *outcome) {
	if one.sent {
		r.removeOne(ctx, o, one, cluster, done)
		return
	}
	// Of one that is only intended nobody knows whether it was there before: what it holds decides.
	known, err := r.identify(ctx, o, one.entry, cluster)
	if err == nil && known.intended() || apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		done.gone = append(done.gone, one.entry)
		return
	}
	if err != nil {
		done.err = errors.Join(done.err, fmt.Errorf("look up %s: %w", one.Ref, err))
		return
	}
	one.entry = known
	if one.adopted {
		done.left = append(done.left, leftover{one.entry, "it was there before"})
		return
	}
	content, err := cluster.ContentOf(ctx, one.Ref)
	switch {
	case err != nil:
		done.err = errors.Join(done.err, fmt.Errorf("look what is in %s: %w", one.Ref, err))
	case content.Name != "" && content.Passing:
		done.recheck = true
		done.removing = append(done.removing, one.entry)
	case content.Name != "":
		done.left = append(done.left, leftover{one.entry, "it still holds " + content.String()})
	default:
		r.removeOne(ctx, o, one, cluster, done)
	}
}
