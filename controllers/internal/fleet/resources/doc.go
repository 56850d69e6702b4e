// Package resources finds out how a workload cluster serves kinds. Those that come with Kubernetes are in a generated table,
// by the version of the API server, so that a cluster cannot say otherwise. Of all others it is believed, for itself alone.
package resources
