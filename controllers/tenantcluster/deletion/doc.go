// Package deletion says which step the deletion of a TenantCluster is at, what that waits for and until when.
//
// The steps come in order, and none comes again: drills stop, a last backup is made, add-ons clean up, Cluster API
// removes a cluster that was ordered; then nothing is left but to let go. What nothing needs is passed at once.
//
// A cluster that answers has as long as it takes for drills and its backup. One that does not answer is waited
// for no longer than spec.deletion.timeout in all, counted from when it fell silent, or was deleted if that was
// later: half of it for drills and the backup, of an ordered cluster a quarter for its add-ons, and the rest for
// Cluster API. What came before a step takes no more of that step's time than its share.
//
// It is pure: no client, no context, no clock.
package deletion
