// Package veleroobjects says what Velero works with in a cluster because of a BackupEnrollment: a BackupStorageLocation, its
// credentials, a Schedule, and resource policies. All of it follows from the revision of the policy, from the identity of the
// cluster, and from what was arranged before.
//
// It promises: the prefix of a cluster in the bucket never changes, and no two clusters share one. It is pure.
package veleroobjects
