// Package rollout decides how one policy reaches its clusters. It is shared by every kind of
// policy and knows none of them.
//
// Everything in it is a pure function of plain values: [PlanRollout] says which targets to write now and
// when to plan again, [Withdraw] which clusters a policy would lose and whether that is too many,
// [Input.After] what is there once a plan is carried out, [Summarize] what to count, and [Conclude] what a
// person is told. No client, no context, no clock.
//
// # The rollout
//
// A change gives a cluster something new: it creates a target, or updates the revision or the
// parameters of one. What a cluster should have belongs to the pair of policy and cluster. Each change but an urgent update takes
// one of the policy's slots (Policy.MaxConcurrent). A connected cluster whose target has what it should have
// and is not ready holds one, whatever it waits for, so that a bad revision stops after as many clusters as
// there are slots and the others keep the old one. Clusters that are not connected hold no slot: they delay
// no other, and nothing changes there until they are back.
//
// A target that is not ready at an older revision, because it failed there or because a newer
// revision overtook it, changes before any that is ready: it is broken already, and updating it
// breaks nothing else. It takes a slot like the others. So, as long as every cluster can be
// updated, no more than MaxConcurrent connected clusters are ever not ready because of Daytwo: a
// ready target is touched only when all broken ones have a slot already.
//
// A target that is not ready when its deadline has passed counts as failed, and keeps its slot.
//
// A shared policy selects clusters of several customers, each of which has a namespace. One customer's clusters hold no more than a
// third of the slots while clusters of others wait, and come last once a target of theirs has failed. The slot of a failed target
// is returned when clusters of two other customers are ready at the same revision, for no more than MaxFailures targets. Those
// that failed at an older revision count among them: they say nothing about the new one. So no more than MaxConcurrent and
// MaxFailures together are ever not ready because of Daytwo.
//
// An urgent update of a target does not wait for a slot: what is in the cluster would end first, such as a
// certificate. It holds one from then on, so that others wait for it. The promise about broken clusters is therefore
// about changes that are not urgent. An urgent first target takes a slot like others, and comes before them.
//
// A [Gate] holds changes back, in one cluster or in all, and says why, until when, and whether a target that
// is not ready keeps its slot behind it. The policy's suspension, a cluster's upgrade, a maintenance window
// and the steps of a cluster's deletion are gates; whatever else must hold a rollout back becomes one. What
// waits is counted by reason. A pair that is urgent overrides named reasons.
//
// Settings (how drift is treated, the deletion policy, suspension) are no part of a revision.
// They are written at once and need no slot. Targets of clusters that are not selected any
// more are deleted at once, if they are not too many. A cluster that is being deleted gets nothing new. Its
// target stays as it is, apart from settings, while a gate blocks the deletion: drills and a last
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
