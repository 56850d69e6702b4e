// Package retention decides which Backups of a cluster stay, and which go, and has Velero do that. Plans are pure; they are
// carried out by DeleteBackupRequests, and by putting off when Velero deletes a Backup by itself.
//
// It promises: the last good backups stay, whatever their age, and whatever of them is not seen or not read; a backup goes only
// if it is the enrollment's, in the storage of the enrollment, and has ended; what cannot be deleted holds up nothing else.
package retention
