// Package history tells what the Backups that a cluster shows say of the past: which runs there were, which of them are good by
// the standard of a policy, and which wait for what the bucket tells of them. A cluster may show anything, so texts and numbers
// have bounds, and what is no Backup in Velero's sense is passed over. It is pure.
package history
