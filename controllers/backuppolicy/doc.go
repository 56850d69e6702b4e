// Package backuppolicy is what a BackupPolicy is made of: when backups start, what they hold and where they go, and the
// settings that its BackupEnrollments take at once. How it reaches its clusters is the policy room's (package policy), whose
// Kind the Reconciler is.
//
// It never talks to a workload cluster or to a bucket, and never reads credentials: it names the Secret of each cluster.
package backuppolicy
