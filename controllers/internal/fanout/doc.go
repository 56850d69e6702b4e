// Package fanout decides how one policy reaches its clusters. It is shared by every kind of
// policy and knows none of them.
//
// Everything in it is a pure function of plain values: [Make] says which targets to write now,
// [Input.After] what is there once that is done, [Summarize] what to count, and [Judge] what a
// person is told. No client, no context, no clock.
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
// more are deleted at once.
package fanout
