package v1alpha1

// FollowEvidence returns the end of a chain of evidence, from what is on record of it and the drills that came after. They are
// of the same policy and cluster. A chain without a beginning begins with the first of them.
func FollowEvidence(recorded *EvidenceChain, drills []DRDrill) EvidenceChain {
	var end EvidenceChain
	if recorded != nil {
		end = *recorded
	}
	after := map[string]*DrillEvidence{}
	for i := range drills {
		if one := drills[i].Status.Evidence; one != nil {
			after[one.Previous] = one
		}
	}
	for next := after[end.Head]; next != nil; next = after[end.Head] {
		delete(after, end.Head) // A chain has no circles, whatever is in a status.
		end = EvidenceChain{Head: next.Hash, ConfigMapName: next.ConfigMapName}
	}
	return end
}
