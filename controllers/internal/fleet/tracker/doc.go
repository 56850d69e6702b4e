// Package tracker remembers, for one workload cluster, which target owns which object, what each should look like, and what
// the watches saw of it. It tells an owner when its object drifts, or when the health of that changes. A [Tracker] outlives
// connections, and asks nobody: the watches of package fleet feed it.
package tracker
