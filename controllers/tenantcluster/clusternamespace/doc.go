// Package clusternamespace makes the namespaces in which the Clusters of orders are, and removes them.
//
// Cluster API believes what is beside a Cluster: it uses the kubeconfig, the certificate authorities and the bootstrap data that it
// finds under the Cluster's name, and runs what a kubeconfig says. So the Clusters that a customer orders are in a namespace of the
// provider's, one for each namespace of customers, in which no customer may write.
//
// Such a namespace is known by the UID of the customer's namespace, a label that only the provider may set: a namespace of the
// expected name without it may be another customer's, and is refused.
//
// A namespace goes when the customer's has no order any more, all Clusters in it are gone, and nobody put anything else into it.
// The controller also labels the namespaces in which there are Clusters, for the admission policy that protects their Secrets.
package clusternamespace
