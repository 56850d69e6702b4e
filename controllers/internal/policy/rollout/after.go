package rollout

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
)

// After is the input once the plan has been carried out and no target has reported anything yet.
// Planning again on it gives an empty plan.
func (in Input) After(plan Plan) Input {
	after := in
	if record := plan.Record(); record != nil {
		after.Withdrawals = *record
	}
	if !plan.Empty() {
		after.Targets = in.targetsAfter(plan)
	}
	after.settle()
	return after
}

// targetsAfter are the targets once the plan has been carried out.
func (in Input) targetsAfter(plan Plan) []Target {
	updates := map[string]Cluster{}
	for _, update := range plan.Update {
		updates[update.Target] = update.Cluster
	}
	synced, deleted := sets.New(plan.SyncSettings...), sets.New(plan.Delete...)
	targets := slices.Grow(slices.Clone(in.Targets), len(plan.Create))
	for i := range targets {
		target := &targets[i]
		if cluster, updated := updates[target.Name]; updated {
			target.Revision, target.Content, target.Parameters = cluster.Revision, cluster.Content, cluster.Parameters
			target.written(in.Now)
		}
		if synced.Has(target.Name) {
			target.written(in.Now)
		}
		target.Deleting = target.Deleting || deleted.Has(target.Name)
	}
	for _, cluster := range plan.Create {
		targets = append(targets, Target{
			Name:            TargetName(in.Policy.Name, cluster.ClusterKey),
			Cluster:         cluster.ClusterKey,
			Revision:        cluster.Revision,
			Content:         cluster.Content,
			Parameters:      cluster.Parameters,
			SettingsCurrent: true,
			Since:           in.Now,
		})
	}
	return targets
}

// written: what a target reported was about an older generation.
func (t *Target) written(now time.Time) {
	t.SettingsCurrent = true
	t.State = Progressing
	t.Applied, t.Standing = false, false
	t.ReadySince, t.Since = time.Time{}, now
	t.Message = ""
}
