package v1alpha1

import (
	"slices"
	"testing"
)

func TestTheEndOfAChainOfEvidence(t *testing.T) {
	drill := func(previous, hash string) DRDrill {
		return DRDrill{Status: DRDrillStatus{Evidence: &DrillEvidence{Previous: previous, Hash: hash, ConfigMapName: "of-" + hash}}}
	}
	all := []DRDrill{drill("", "a"), {}, drill("b", "c"), drill("a", "b")}
	for name, row := range map[string]struct {
		recorded *EvidenceChain
		drills   []DRDrill
		want     string
	}{
		"nothing":                          {nil, nil, ""},
		"from the beginning":               {nil, all, "c"},
		"what came after the record":       {&EvidenceChain{Head: "a"}, all, "c"},
		"drills of before were deleted":    {&EvidenceChain{Head: "b"}, all[2:3], "c"},
		"nothing came after":               {&EvidenceChain{Head: "c"}, all, "c"},
		"what does not belong to it":       {&EvidenceChain{Head: "x"}, all, "x"},
		"a circle, which nobody can write": {nil, []DRDrill{drill("", "a"), drill("a", "b"), drill("b", "a")}, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := FollowEvidence(row.recorded, row.drills); got.Head != row.want {
				t.Errorf("got %+v, want %q", got, row.want)
			}
			reversed := slices.Clone(row.drills) // Rows share a list.
			slices.Reverse(reversed)
			if got := FollowEvidence(row.recorded, reversed); got.Head != row.want {
				t.Errorf("in another order got %+v", got)
			}
		})
	}
}
