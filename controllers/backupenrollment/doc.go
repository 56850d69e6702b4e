// Package backupenrollment keeps one BackupPolicy in one cluster: the BackupStorageLocation, the credentials and the Schedule
// that Velero works with there. It watches the Backups that come of that, and tells how old the data is that a recovery would
// bring back.
//
// It promises: a cluster's backups have a prefix of their own in the bucket, which follows from the cluster's identity and
// never changes; nothing that Velero writes is taken back; what Velero says is believed for that cluster alone.
//
// It makes the Backup that somebody asks for, one in the place of a scheduled one that failed or was missed, and the DRDrills of
// the policy's plans, and tells what drills proved. While a blackout is open, it has the Schedule paused.
//
// It has Velero delete the Backups whose time is over, apart from the last good ones, and all of them at its end when the
// policy says so. It never changes or deletes a Backup itself, and never talks to the bucket: Velero does both.
//
// What follows from Backups, schedules and templates alone stands in packages below, which know nothing of a reconcile. This one
// observes a cluster once, asks them, declares what Velero works with, and reports.
package backupenrollment
