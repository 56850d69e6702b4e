package rollout

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
)

// After is the input once the plan has been carried out and no target has reported anything yet.
// Planning again on it gives an empty plan.
func (in Input) After(plan Plan) Input {
	moves := map[string]Cluster{}
	for _, move := range plan.Move {
		moves[move.Target] = move.Cluster
	}
	adjusted, deleted := sets.New(plan.Adjust...), sets.New(plan.Delete...)
	after := in
	if record := plan.Record(); record != nil {
		after.Withdrawals = *record
	}
	after.Targets = slices.Clone(in.Targets)
	for i := range after.Targets {
		target := &after.Targets[i]
		if cluster, moved := moves[target.Name]; moved {
			target.Revision, target.Facts = in.Policy.Revision, cluster.Facts
			target.written()
		}
		if adjusted.Has(target.Name) {
			target.written()
		}
		target.Deleting = target.Deleting || deleted.Has(target.Name)
	}
	for _, cluster := range plan.Create {
		after.Targets = append(after.Targets, Target{
			Name:         TargetName(in.Policy.Name, cluster.ClusterKey),
			Cluster:      cluster.ClusterKey,
			Revision:     in.Policy.Revision,
			Facts:        cluster.Facts,
			KnobsCurrent: true,
		})
	}
	after.settle()
	return after
}

// written: what a target reported was about an older generation.
func (t *Target) written() {
	t.KnobsCurrent = true
	t.State = Progressing
	t.Message = ""
}
