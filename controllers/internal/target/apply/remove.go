package apply

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
func (a *Applier) remove(ctx context.Context, o Observation, removals []Removal, s *slice, done *Result) {
	unlisted, err := a.Stages.Unlisted(ctx)
	if err != nil {
		done.Err = err
		return
	}
	for i := range unlisted {
		unlisted[i].Deletion = o.Deletions[unlisted[i].Key()]
	}
	remover := &remover{slice: s, cluster: a.Cluster, installation: a.Installation, owns: a.Stages.Owns, now: o.Now}
	grouped := teardown.Group(append(slices.Clip(removals), unlisted...), Removal.stage)
	finished := false
	for i, stage := range grouped {
		if at := stage[0].stage(); at >= teardown.Definitions && !finished {
			if finished, done.Err = a.Stages.After(ctx); !finished || done.Err != nil {
				return
			}
		}
		results := remover.all(ctx, stage)
		done.take(results)
		if len(done.Removing) == 0 && len(s.left) == 0 && done.Err == nil {
			continue
		}
		unblocks := mayUnblock(results, o.Now, cmp.Or(a.WebhookPatience, DefaultWebhookPatience))
		done.take(remover.all(ctx, outOfTurn(slices.Concat(grouped[i+1:]...), unblocks, o.ClusterDeleted)))
		return
	}
	if !finished {
		_, done.Err = a.Stages.After(ctx)
	}
}

// take takes in what came of removals.
func (r *Result) take(results []Removed) {
	var failed []Removed
	for _, one := range results {
		switch {
		case one.err != nil:
			failed = append(failed, one)
		case one.gone:
			r.Gone = append(r.Gone, one.Entry)
			continue
		case one.because != "":
			r.Left = append(r.Left, leftover{one.Entry, one.because})
			continue
		default:
			r.Removing = append(r.Removing, one)
			r.wake(one.Deletion.Next)
		}
		if r.deletions == nil {
			r.deletions = map[objects.Key]Deletion{}
		}
		r.deletions[one.Key()] = one.Deletion
	}
	if len(failed) > 0 && r.Err == nil {
		r.Err = failed[0].err
		if more := len(failed) - 1; more > 0 {
			r.Err = fmt.Errorf("%w (and %d more)", r.Err, more)
		}
	}
}
