// Package tenantcluster connects workload clusters and watches over who they are.
//
// It reads each TenantCluster's kubeconfig whenever its Secret changes, never otherwise, gives what is
// permitted of it to package fleet, and says in conditions how the connection stands. The identity of
// a cluster is recorded in status before work in it is admitted: a cluster that changed, that another
// TenantCluster holds, or that is the management cluster is connected and not worked in.
//
// A changed annotation daytwo.dev/requested-at makes the fleet try to connect at once. What was handled
// is not on record: a manager that starts tries anyway.
//
// A TenantCluster that is deleted goes step by step (package deletion), each of them in status before what it allows
// is done. It stays until no target needs it, and its Secret as long, so that deleting a customer's whole namespace
// still cleans up in the cluster.
//
// As long as there are OrphanRecords of a cluster, its TenantCluster says so.
//
// Where a kubeconfig is to be renewed, it requests tokens in the workload cluster, tries each over a connection of its own, keeps
// it in a Secret of its own and then has the fleet use it, without closing the connection (renewal_*.go). That Secret is read
// like a kubeconfig: it may be anybody's. It is believed as long as the kubeconfig is the one that the token was requested with.
//
// Besides requests for tokens it never writes to a workload cluster. Of people's Secrets it changes nothing but a finalizer.
package tenantcluster
