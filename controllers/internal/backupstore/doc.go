// Package backupstore reads what Velero keeps of one cluster's backups in an S3 bucket. It never writes there.
//
// The bucket is a customer's, and whoever is cluster-admin in the cluster may have written what is in it. So everything is
// bounded: backups in number, objects in bytes, connections by the addresses that a guard permits.
package backupstore
