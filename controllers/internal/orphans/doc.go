// Package orphans keeps the ledger of what Daytwo could not remove: resources outside of a cluster, such as
// volumes and load balancers, that may have outlived it, because the cluster did not answer before its
// deletion was due.
//
// The ledger is a ConfigMap daytwo-orphans in the namespace of the TenantCluster, an entry for each target
// or Cluster. People read it, and delete entries, or the whole, when they have seen to them. It holds at
// most 200 entries; the oldest go first, and how many went is told.
package orphans
