// Package orphans reads and writes OrphanRecords: what Daytwo did not remove. These are resources outside of a cluster, such as
// volumes and load balancers, that may have outlived it, and objects in a cluster that did not answer.
//
// There is one record for each target or TenantCluster and the cluster that its objects were in, in the namespace of the
// TenantCluster. The manager alone writes records; people delete them. controllers/orphanrecord takes out of them what it
// finds to be gone. Who acts on a record has to find in the cluster itself that it is true.
package orphans
