// Package recovery judges what a restore of Velero's brought back: it reads the archive of the backup, and compares each
// object with the one in the cluster. It knows what Velero 1.18 changes on the way, and what it leaves out.
package recovery
