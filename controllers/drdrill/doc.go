// Package drdrill rehearses recoveries: it restores a backup where that does no harm, compares what came of it with what is
// in the backup's archive, measures how long that took, and removes it again.
//
// It promises: nothing is called Passed that was not checked; what is compared with is read from the bucket, and not from a
// cluster; in the cluster that was backed up nothing is written but the drill's own namespaces, Velero's Restore and the
// ConfigMap that says how objects are restored; what a drill made is removed, however it ends.
//
// It never writes to a bucket, never changes an object that is there, and never restores what is not in a namespace.
package drdrill
