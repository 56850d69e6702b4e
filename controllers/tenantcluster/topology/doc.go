// Package topology says what a TenantCluster with spec.topology means to Cluster API: which Cluster it
// orders (Desired), how far Cluster API is with it (Read), and when its version may change (Next).
//
// All of it is pure: no client, no clock.
package topology
