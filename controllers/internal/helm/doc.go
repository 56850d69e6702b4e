// Package helm keeps the records of Helm releases in workload clusters, so that Helm's own tools see
// what Daytwo installed: list, history, status, get and the rest.
//
// Helm's actions are not used. They hold a worker while hooks run, ignore their context, and leave
// pending releases behind when they are killed. Daytwo applies objects and runs hooks by itself; what
// this package does is the bookkeeping around that, with the SDK's types and its storage driver.
//
// Records are read with limits: whoever may write Secrets in a workload cluster may write one that
// inflates to gigabytes.
package helm
