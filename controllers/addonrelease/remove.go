package addonrelease

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/teardown"
)

// DefaultWebhookPatience is how long the deletion of a custom resource is tried while an admission webhook does not
// answer, before the webhook configurations of the same release go first: longer than a restart of its server takes.
const DefaultWebhookPatience = time.Minute

// remove removes what left the source, stage by stage: the next begins when all of one is gone or stays.
func (a *applier) remove(ctx context.Context, o objectsObservation, removals []removal, done *objectsResult) {
	strays, err := a.stages.strays(ctx)
	if err != nil {
		done.err = err
		return
	}
	for i := range strays {
		strays[i].deletion = o.deletions[strays[i].Key()]
	}
	remover := &remover{cluster: a.cluster, installation: a.installation, owns: a.stages.owns, now: o.now}
	grouped := teardown.Group(append(slices.Clip(removals), strays...), removal.stage)
	finished := false
	for i, stage := range grouped {
		if at := stage[0].stage(); at >= teardown.Definitions && !finished {
			if finished, done.err = a.stages.after(ctx); !finished || done.err != nil {
				return
			}
		}
		results := remover.all(ctx, stage)
		done.take(results)
		if len(done.removing) == 0 && done.err == nil {
			continue
		}
		unblocks := mayUnblock(results, o.now, cmp.Or(a.webhookPatience, DefaultWebhookPatience))
		done.take(remover.all(ctx, outOfTurn(slices.Concat(grouped[i+1:]...), unblocks, o.clusterDeleted)))
		return
	}
	if !finished {
		_, done.err = a.stages.after(ctx)
	}
}

// take takes in what came of removals.
func (r *objectsResult) take(results []removed) {
	var failed []removed
	for _, one := range results {
		switch {
		case one.err != nil:
			failed = append(failed, one)
		case one.gone:
			r.gone = append(r.gone, one.entry)
			continue
		case one.because != "":
			r.left = append(r.left, leftover{one.entry, one.because})
			continue
		default:
			r.removing = append(r.removing, one)
			r.wake(one.deletion.next)
		}
		if r.deletions == nil {
			r.deletions = map[objects.Key]deletion{}
		}
		r.deletions[one.Key()] = one.deletion
	}
	if len(failed) > 0 && r.err == nil {
		r.err = failed[0].err
		if more := len(failed) - 1; more > 0 {
			r.err = fmt.Errorf("%w (and %d more)", r.err, more)
		}
	}
}
