// Package localfleet runs a fleet of real Kubernetes clusters on one machine,
// without containers: a management cluster and as many workload clusters as
// asked, for tests, demonstrations and benchmarks.
//
// One etcd serves all clusters. Each cluster is a kube-apiserver with an etcd
// prefix, certificate authority, credentials and service account key of its own
// and RBAC on. Unless it is bare, a kube-controller-manager works in it, and in a
// workload cluster also a kube-scheduler, and KWOK, which plays two nodes, so
// that pods become ready. Everything listens on the loopback address only.
//
// A fleet lives in a state directory:
//
//	fleet.json               what the fleet consists of
//	management.kubeconfig    cluster-admin of the management cluster
//	clusters/NAME.kubeconfig cluster-admin of a workload cluster
//	manager.kubeconfig       what the manager runs with, if it was started
//	logs/                    a file for each program; kept when the fleet ends
//	run/                     a record of each program that was started
//	etcd/, pki/              data, certificates and keys
//
// A test starts a fleet that dies with it, even if the test is killed:
//
//	fleet, err := localfleet.Start(ctx, localfleet.Options{StateDir: t.TempDir(), Clusters: 2})
//	...
//	defer fleet.Close()
//	client := kubernetes.NewForConfigOrDie(fleet.Management().Config())
//
// A Detached fleet goes on after its starter, and is taken up again with Open.
package localfleet
