// Package clusterwatch wakes the objects of a kind for what happens to the workload clusters in which they work: what a
// watch there shows, a connection that comes or goes, and a change of the TenantCluster. Targets and runs share it.
package clusterwatch
