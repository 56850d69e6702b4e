package rotation

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// mutantFleets is how many random fleets may live until a mistake has to show.
const mutantFleets = 2500

// Some rules stand behind others, and a fleet shows nothing when one of them is missing in the planner: that an acknowledgement names the
// generation (what it read back is compared too), reopening (a restore is waited for anyway), that leaves are read back (ReplacedAt tells too). Tables
// hold those.
//
// mutants are planners with one mistake each: they are told something that is not so, or plan what the rules forbid. A rule that
// a mutant breaks unnoticed has no test.
var mutants = map[string]func(Input) Plan{
	"does not wait until anchors are loaded": func(in Input) Plan {
		return PlanRotation(in.withTargets(func(_ *Cluster, t *Target) { t.Acknowledged.ReloadComplete = true }))
	},
	"takes what was told for acknowledged": func(in Input) Plan {
		return PlanRotation(in.withTargets(func(c *Cluster, t *Target) {
			t.Acknowledged.PolicyUID, t.Acknowledged.Generation, t.Acknowledged.ClusterUID = in.PolicyUID, t.Generation, c.ID
			t.Acknowledged.AnchorHash, t.Acknowledged.Issuer = t.Told.AnchorHash, t.Told.Issuer
			if t.Acknowledged.TrustSince.IsZero() {
				t.Acknowledged.TrustSince = metav1.NewTime(beginning)
			}
		}))
	},
	"does not compare the generation": func(in Input) Plan {
		return PlanRotation(in.withTargets(func(_ *Cluster, t *Target) {
			t.Acknowledged.PolicyUID, t.Acknowledged.Generation = in.PolicyUID, t.Generation
			t.Acknowledged.AnchorHash = t.Told.AnchorHash
		}))
	},
	"does not compare the anchors that were read back": func(in Input) Plan {
		return PlanRotation(in.withTargets(func(_ *Cluster, t *Target) { t.Acknowledged.AnchorHash = t.Told.AnchorHash }))
	},
	"does not compare the identity": func(in Input) Plan {
		return PlanRotation(in.withTargets(func(c *Cluster, t *Target) { t.Acknowledged.ClusterUID = c.ID }))
	},
	"forgets who takes part": func(in Input) Plan {
		in.Membership, in.Record.Members = Membership{}, Members{}
		return PlanRotation(in)
	},
	"takes a missing cluster for gone": func(in Input) Plan {
		for _, entry := range in.Membership.members {
			in.Gone = append(in.Gone, entry.key)
		}
		return PlanRotation(in)
	},
	"does not wait for clusters that the guard holds": func(in Input) Plan {
		var left []Cluster
		for _, one := range in.Clusters {
			if one.Selected || one.Leaving {
				left = append(left, one)
			} else {
				in.Gone = append(in.Gone, one.ClusterKey)
			}
		}
		in.Clusters = left
		return PlanRotation(in)
	},
	"counts the overlap from the phase": func(in Input) Plan {
		switched := in.Record.Since
		return PlanRotation(in.withTargets(func(_ *Cluster, t *Target) {
			if !t.Acknowledged.ReplacedAt.IsZero() {
				t.Acknowledged.ReplacedAt = switched
			}
		}))
	},
	"counts no overlap": func(in Input) Plan {
		return PlanRotation(in.withTargets(func(_ *Cluster, t *Target) { t.Acknowledged.ReplacedAt = metav1.Time{} }))
	},
	"does not look at leaves that were read back": func(in Input) Plan {
		return PlanRotation(in.withTargets(func(_ *Cluster, t *Target) { t.Acknowledged.Issuer = t.Told.Issuer }))
	},
	"takes a cache for a list": func(in Input) Plan {
		in.Listed = true
		return PlanRotation(in)
	},
	"does not wait for unreachable clusters": func(in Input) Plan {
		return PlanRotation(in.withTargets(func(c *Cluster, t *Target) {
			if !c.Reachable {
				in.Spec.Exclude = append(in.Spec.Exclude, Exclusion{Cluster: c.Name, Reason: "mutant"})
			}
		}))
	},
	"goes back from Completing": func(in Input) Plan {
		if in.Record.Phase == Completing && in.Spec.Rollback == in.Record.Next.Generation {
			in.Record.Phase = Switched
		}
		return PlanRotation(in)
	},
	"lets a new cluster have a leaf of the next authority at once": func(in Input) Plan {
		plan := PlanRotation(in)
		for i := range plan.Wants {
			if active(&plan.Record) && plan.Wants[i].Told.Issuer == 0 {
				plan.Wants[i].Told.Issuer = plan.Record.Next.Generation
			}
		}
		return plan
	},
}

// withTargets is the input with other targets.
func (in *Input) withTargets(change func(c *Cluster, t *Target)) Input {
	changed := make([]Cluster, len(in.Clusters))
	copy(changed, in.Clusters)
	for i := range changed {
		if changed[i].Target != nil {
			target := *changed[i].Target
			change(&changed[i], &target)
			changed[i].Target = &target
		}
	}
	in.Clusters = changed
	return *in
}

// Every mistake shows in some fleet. The fleets are always the same, since some mistakes show in one of several hundred only.
func TestTheSimulationCatchesEveryMutant(t *testing.T) {
	for name, planner := range mutants {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(mutantFleets) {
				if wrong := newFleet(seed, planner).live(500); wrong != "" {
					t.Logf("fleet %d: %s", seed, wrong)
					return
				}
			}
			t.Errorf("%d fleets show nothing wrong", mutantFleets)
		})
	}
}
