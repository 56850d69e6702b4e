// Package apply keeps a set of objects in a workload cluster as they are declared.
//
// A target observes its objects (Observation), plans what to write and what to remove (NewPlan, which is pure) and
// carries that out (Applier), in two stages: namespaces and definitions first, everything else after them. Objects that
// are there already are adopted unless they belong to somebody else; what others changed is reverted; what left the set
// is removed. Corrections of the same object back off exponentially, and so do writes that the API server refuses.
//
// It promises: an object is in the inventory, which the target's Journal stores, before it is in the cluster, and until
// it is known to be gone; a write to a known object names its UID; a deletion is believed when it is seen.
//
// It is a library that a target uses: it knows no kind of target, no policy and no Helm. What a target does beside its
// objects comes in through Stages.
package apply
