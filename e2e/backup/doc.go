// Package backup tests that what a BackupPolicy promises is so, with real Velero servers and a real S3 gateway.
package backup
