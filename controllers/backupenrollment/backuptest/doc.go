// Package backuptest makes Backups, and what belongs to them, as Velero and the API would show them at noon of one day. It is
// for tests.
package backuptest
