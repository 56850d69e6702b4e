// Package targets is the registry of the kinds whose objects work in workload clusters. Controllers that need to know
// what is in a cluster, whatever its kind, ask the [Registry]: the deletion and the upgrade of a TenantCluster, the sweep
// of orphans.
//
// A kind registers a [Kind]. Kinds of targets are written by a kind of policy. A kind without one, such as one of runs that
// a person starts, says by View in which clusters an object works.
//
// The registry only reads. The target room, and the kind itself, end a target: also one whose cluster is gone or
// abandoned.
package targets
