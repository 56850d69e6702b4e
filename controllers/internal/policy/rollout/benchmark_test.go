package rollout

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BenchmarkPlanning is what the planner costs in one reconcile: plan, sum up what is there afterwards, conclude. Settled
// has nothing to change, rolling has one free slot in the middle of a rollout. Order is that of the room, which keeps
// clusters and targets in order, or none.
func BenchmarkPlanning(b *testing.B) {
	for _, state := range []string{"settled", "rolling"} {
		for _, order := range []string{"ordered", "shuffled"} {
			for _, clusters := range []int{50, 500, 5000} {
				input := benchmarkInput(clusters, state == "rolling")
				if order == "shuffled" {
					source := rand.New(rand.NewPCG(1, 2))
					source.Shuffle(clusters, func(i, j int) { input.Clusters[i], input.Clusters[j] = input.Clusters[j], input.Clusters[i] })
					source.Shuffle(clusters, func(i, j int) { input.Targets[i], input.Targets[j] = input.Targets[j], input.Targets[i] })
				}
				b.Run(fmt.Sprintf("%s/%s/%d", state, order, clusters), func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						plan := PlanRollout(input)
						verdict := Conclude(input.Policy, Summarize(input.After(plan)))
						if (verdict.Ready == metav1.ConditionTrue) == (state == "rolling") {
							b.Fatalf("verdict %+v", verdict)
						}
					}
				})
			}
		}
	}
}

// benchmarkInput is a policy with as many clusters, in order. Rolling: the first half has the new revision, and all but one of
// the slots are taken.
func benchmarkInput(clusters int, rolling bool) Input {
	input := Input{Policy: policy(10), Now: time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)}
	for i := range clusters {
		name := fmt.Sprintf("cluster-%05d", i)
		input.Clusters = append(input.Clusters, cluster(name))
		revision, state := newRevision, Ready
		switch {
		case rolling && i >= clusters/2:
			revision = oldRevision
		case rolling && i >= clusters/2-9:
			state = Progressing
		}
		input.Targets = append(input.Targets, target(name, revision, state))
	}
	return input
}
