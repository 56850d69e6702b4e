// Package target is the life of a target in its cluster, whatever its kind: which cluster that is and whether it answers,
// who suspends work there, what the deletion of its TenantCluster means, what is remembered of it, and how its status is
// written. It knows no kind.
//
// A kind gives a [Kind]: its types, what a target has in its cluster already, and Work, which does the four steps for
// one target. [Reconciler] calls it with the latest version of the target, for each event that concerns it: a change of
// the target, of its TenantCluster, of the connection, or of an object that it claimed. The room's parts are there for
// these steps to use: an [Observation] to fill, a [statuses.Writer] to record with, [Report] for the conditions that every
// target has, [Metrics]. Package apply keeps a target's objects. A kind whose targets keep objects gives a [DeclaredKind],
// its types and these objects, and [Declared] does the rest. What its targets have and do beside their objects, such as the
// record of a Helm release and its hooks, comes in through a [StagedKind].
//
// It promises: a status takes the place of the one that was read and of no other; a deleted target is given up for what
// is found out now, and not for what was true before the manager started.
package target
