// Package floor does, as barely as client-go allows, what the manager does in workload clusters: it
// applies objects, takes edits back and keeps watches open. It has no queue, no inventory, no status,
// and no memory beyond a fingerprint an object. What it costs is what nobody can save.
package floor
