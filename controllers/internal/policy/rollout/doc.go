// Package rollout decides how one policy reaches its clusters. It is shared by every kind of
// policy and knows none of them.
//
// Everything in it is a pure function of plain values: [Make] says which targets to write now,
// [Withdraw] which clusters a policy would lose and whether that is too many, [Input.After] what is
// there once a plan is carried out, [Summarize] what to count, and [Judge] what a person is told. No
// client, no context, no clock.
//
// # The rollout
//
// A move gives a cluster something new: it creates a target, or changes the revision or the
// cluster facts of one. Each move takes one of the policy's slots (Policy.MaxConcurrent). A
// connected cluster whose target has the current revision and facts and is not ready holds one,
// whatever it waits for, so that a bad revision stops after as many clusters as there are slots
// and the others keep the old one. Clusters that are not connected hold no slot: they hold
// nobody up, and nothing moves there until they are back.
//
// A target that is not ready at an older revision, because it failed there or because a newer
// revision overtook it, moves before any that is ready: it is broken already, and moving it
// breaks nothing else. It takes a slot like the others. So, as long as every cluster can be
// moved, no more than MaxConcurrent connected clusters are ever not ready because of Daytwo: a
// ready target is touched only when all broken ones have a slot already.
//
// Knobs (how drift is treated, the deletion policy, suspension) are no part of a revision.
// They are written at once and need no slot. Targets of clusters that are not selected any
// more are deleted at once, if they are not too many. A cluster that is about to be deleted (Cluster.Leaving)
// keeps its target as it is, apart from knobs, until the target may go (Cluster.Deleting): drills and a last
// backup come first. Only then it counts as withdrawn.
//
// # The withdrawal guard
//
// A cluster is withdrawn when its target is to be deleted though the policy is not: whether a selector
// was edited, labels were, or TenantClusters are deleted. Withdrawals of the last hour and those wanted
// now must be no more than [Guard] allows of the most clusters that the policy had in that hour.
// Otherwise none of those wanted now happens; everything else goes on.
//
// What was withdrawn is in a record that the policy's status holds, so that the guard is a function of
// what it is given, like everything here. Before the first target is deleted, the record says how many
// are about to go, and of how many clusters: those that are left tell later how many went, whether or
// not somebody lived to write it down, and each is counted once. A target is created before that, so
// that it hides none of them.
//
// A person confirms with the number of clusters that wait. That holds once: a value that confirmed
// something, or was there while nothing waited, is spent until it is removed or changed. So an
// annotation that stays in somebody's repository confirms nothing later.
package rollout
