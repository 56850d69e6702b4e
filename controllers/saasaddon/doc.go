// Package saasaddon turns a SaaSAddon into one AddonRelease for every cluster that it selects.
//
// It snapshots the add-on's content as a revision, rolls revisions out as fast as
// spec.rollout allows, and sums the targets up in the add-on's status. What to move when is decided by
// package rollout, how a revision is stored by package revision.
//
// A target is created with its finalizer, under a name that is always the same for a policy and a
// cluster, so that a manager that dies between any two writes goes on where it stopped. Targets are
// deleted explicitly; the add-on stays until all are gone, and then its revisions go as well.
//
// It never talks to a workload cluster, never renders, and never reads a Secret's content.
package saasaddon
