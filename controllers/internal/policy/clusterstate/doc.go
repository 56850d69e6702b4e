// Package clusterstate is what of a TenantCluster a rollout depends on: whether it is connected, what templates may know of
// it, which gates hold changes back there, and which of its changes matter to a policy.
package clusterstate
