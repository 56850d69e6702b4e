package rollout

import (
	"slices"
	"time"

	"github.com/daytwo-dev/daytwo/controllers/internal/times"
)

// Changes is a set of what a plan does to targets.
type Changes uint8

// Changes that a gate may block.
const (
	Create Changes = 1 << iota
	Update
	Delete
)

// Gate holds changes back. It is closed as long as it is there.
type Gate struct {
	// Reason in CamelCase: waiting clusters are counted by it, and an urgency names it to pass.
	Reason string
	// Message tells people why changes wait, so that "<message> in 2 clusters (a, b)" is a sentence.
	Message string
	// Until is when the gate opens by itself; zero if it does not, or if that is not known.
	Until time.Time
	// Blocks are the changes that wait. Settings of a target are written in any case.
	Blocks Changes
	// KeepsSlot: a target that is not ready keeps its slot behind this gate. Closing a gate on what a bad
	// revision broke must not let the revision break more. A gate that lets Create or Update pass keeps it in any
	// case: otherwise what passes would take no slot.
	KeepsSlot bool
	// Pauses: the work on what is there stops as well, so no deadline of a target passes.
	Pauses bool
}

// passes is whether a cluster's urgency overrides the gate.
func (c *Cluster) passes(gate *Gate) bool { return slices.Contains(c.Overrides, gate.Reason) }

// blockedBy is the first gate that holds a change of the pair back, those of the policy first; nil if none does.
func (p pair) blockedBy(policy *Policy, change Changes) *Gate {
	for gate := range p.gates(policy) {
		if gate.Blocks&change != 0 && !p.cluster.passes(gate) {
			return gate
		}
	}
	return nil
}

// keepsSlot is whether the pair, if it is not ready, has a slot behind all of its gates.
func (p pair) keepsSlot(policy *Policy) bool {
	for gate := range p.gates(policy) {
		if !gate.KeepsSlot && gate.Blocks&(Create|Update) == Create|Update && !p.cluster.passes(gate) {
			return false
		}
	}
	return true
}

// isPaused is whether a gate stops the work on the pair's target.
func (p pair) isPaused(policy *Policy) bool {
	for gate := range p.gates(policy) {
		if gate.Pauses {
			return true
		}
	}
	return false
}

// gates are those of the policy, then those of the cluster.
func (p pair) gates(policy *Policy) func(yield func(*Gate) bool) {
	return func(yield func(*Gate) bool) {
		for _, gates := range [][]Gate{policy.Gates, p.cluster.Gates} {
			for i := range gates {
				if !yield(&gates[i]) {
					return
				}
			}
		}
	}
}

// blocks is whether one of the gates holds such a change back.
func blocks(gates []Gate, change Changes) bool {
	return slices.ContainsFunc(gates, func(gate Gate) bool { return gate.Blocks&change != 0 })
}

// opening is when the first of the gates opens by itself; zero if none does.
func (in Input) opening() time.Time {
	next := firstOpening(time.Time{}, in.Policy.Gates, in.Now)
	for i := range in.Clusters {
		next = firstOpening(next, in.Clusters[i].Gates, in.Now)
	}
	return next
}

func firstOpening(next time.Time, gates []Gate, now time.Time) time.Time {
	for i := range gates {
		if gates[i].Until.After(now) {
			next = times.Earliest(next, gates[i].Until)
		}
	}
	return next
}
