// Package customerkubeconfig says how a customer gets the kubeconfig of a cluster on order: as an immutable Secret beside the
// TenantCluster, which is written and never read back. Its name is none that Cluster API reads of a Cluster beside it.
package customerkubeconfig
