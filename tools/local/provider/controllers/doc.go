// Package controllers makes clusters of the local fleet out of what Cluster API
// writes. It keeps the contract v1beta2 of Cluster API's providers:
//
//   - A LocalCluster is a claimed port and the cluster's keys.
//   - A LocalControlPlane is a kube-apiserver on that port with its companions, in
//     the version that is asked for, and the Secret with its kubeconfig. Programs
//     that died are started again. Another version or other flags replace the
//     programs; data, keys and port stay. Its members are all played by one
//     process.
//   - A LocalMachine is a node that KWOK plays.
//   - A LocalBootstrapConfig is a Secret without a use.
//
// What an object stands for is gone before its finalizer is. A cluster is found by
// its namespace and the label cluster.x-k8s.io/cluster-name, which Cluster API
// puts on all of these.
//
// It is for development and tests: it trusts what it reads, and blocks a worker
// for the seconds that a program takes to start.
package controllers
