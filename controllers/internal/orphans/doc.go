// Package orphans keeps the ledger of what Daytwo could not remove: resources outside of a cluster, such as
// volumes and load balancers, that may have outlived it, and objects in a cluster that was let go without an
// answer, and may live on.
//
// The ledger is a ConfigMap daytwo-orphans in the namespace of the TenantCluster, an entry for each target
// or Cluster. People read it, and delete entries, or the whole, when they have seen to them; a sweep takes
// out what is gone (controllers/orphanledger). It holds at most 200 entries and 700 KiB: long lists of the oldest
// entries are cut first, then the oldest entries go, and how many went is told.
//
// Customers may write the ledger too. What cannot be read is left where it is and told of; it makes room only when
// the newest entry would have none otherwise. Whoever acts on an entry has to find in the cluster itself that it is
// true.
package orphans
