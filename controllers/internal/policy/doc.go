// Package policy is the life of a policy, whatever its kind: it selects clusters, stores the content as a revision, rolls
// it out to one target for each cluster, and sums the targets up in the policy's status. It knows no kind and never talks
// to a workload cluster.
//
// A kind gives a [Kind]: its types, its content or what stands in the way of it, what that is read from, settings that
// take effect at once, and the state of a target. Optionally it has gates of its own ([GatedKind]), and wishes that differ by
// cluster ([PairedKind]), or phases ([PhasedKind]), or content that is tried before any cluster gets it ([TriedKind]). What to
// change when is decided by package rollout, how a revision is stored by package revision.
//
// The room is built for policies with thousands of clusters. Of each policy it keeps a view: clusters, targets and revisions
// as the planner wants them, and no objects. Handlers keep the names of what changed, and only these are read again, from
// the cache. A view is built from lists when its policy is reconciled first or was edited; a restart needs nothing else.
// What one event costs beside the planner is the same with 50 clusters and with 5,000 (BenchmarkTargetEvent).
//
// A target is created with its finalizer, under a name that is always the same for a policy and a
// cluster, so that a manager that dies between any two writes goes on where it stopped. Targets are
// deleted explicitly; the policy stays until all are gone, and then its revisions go as well.
package policy
