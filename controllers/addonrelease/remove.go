package addonrelease

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/teardown"
)

// DefaultWebhookPatience is how long the deletion of a custom resource is tried while an admission webhook does not
// answer, before the webhook configurations of the same release go first: longer than a restart of its server takes.
const DefaultWebhookPatience = time.Minute

// remove removes what left the source, stage by stage: the next begins when all of one is gone or stays.
func (r *Reconciler) remove(ctx context.Context, o observed, removals []removal, cluster *fleet.Cluster, done *outcome, steps helmSteps) {
	strays, err := steps.strays(ctx)
	if err != nil {
		done.err = err
		return
	}
	for i := range strays {
		strays[i].deletion = o.deletions[strays[i].Key()]
	}
	remover := &remover{cluster: cluster, installation: r.Installation, claimant: o.claimant, now: o.now}
	stages := teardown.Group(append(slices.Clip(removals), strays...), removal.stage)
	hooksRan := false
	for i, stage := range stages {
		if at := stage[0].stage(); at >= teardown.Definitions && !hooksRan {
			if hooksRan = steps.after(ctx); !hooksRan {
				return
			}
		}
		results := remover.all(ctx, stage)
		done.take(results)
		if len(done.removing) == 0 && done.err == nil {
			continue
		}
		unblocks := mayUnblock(results, o.now, cmp.Or(r.WebhookPatience, DefaultWebhookPatience))
		done.take(remover.all(ctx, outOfTurn(slices.Concat(stages[i+1:]...), unblocks, o.goesAlong())))
		return
	}
	if !hooksRan {
		steps.after(ctx)
	}
}

// take takes in what came of removals.
func (o *outcome) take(results []removed) {
	var failed []removed
	for _, one := range results {
		switch {
		case one.err != nil:
			failed = append(failed, one)
		case one.gone:
			o.gone = append(o.gone, one.entry)
			continue
		case one.because != "":
			o.left = append(o.left, leftover{one.entry, one.because})
			continue
		default:
			o.removing = append(o.removing, one)
			o.wake(one.deletion.next)
		}
		if o.deletions == nil {
			o.deletions = map[objects.Key]deletion{}
		}
		o.deletions[one.Key()] = one.deletion
	}
	if len(failed) > 0 && o.err == nil {
		o.err = failed[0].err
		if more := len(failed) - 1; more > 0 {
			o.err = fmt.Errorf("%w (and %d more)", o.err, more)
		}
	}
}

// claimant says who else an object belongs to; empty for nobody.
func (o observed) claimant(object metav1.Object, installation string) string {
	if release := o.helmRelease(); release != nil && release.Owns(object) {
		return ""
	}
	return objects.ClaimedBy(object, installation)
}
