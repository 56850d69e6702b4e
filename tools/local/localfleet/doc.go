// Package localfleet runs a fleet of real Kubernetes clusters on one machine,
// without containers: a management cluster and as many workload clusters as
// asked, for tests, demonstrations and benchmarks.
//
// One etcd serves all clusters but those with OwnEtcd, whose data can be put back
// to an earlier state with Cluster.Snapshot and Cluster.Restore. Each cluster is a kube-apiserver with an etcd
// prefix, certificate authority, credentials and service account key of its own
// and RBAC on. Unless it is bare, a kube-controller-manager works in it, and in a
// workload cluster also a kube-scheduler, and KWOK, which plays two nodes, so
// that pods become ready. A cluster can have any of KubernetesVersions, and
// can be moved to another. Everything listens on the loopback address only,
// but for the webhooks of Cluster API.
//
// A fleet lives in a state directory:
//
//	fleet.json               what the fleet consists of
//	management.kubeconfig    cluster-admin of the management cluster
//	clusters/NAME.kubeconfig cluster-admin of a workload cluster
//	manager.kubeconfig       what the manager runs with, if it was started
//	ordered/                 the clusters that were ordered through Cluster API:
//	                         fleet.json, clusters/, run/ and pki/ of their own
//	logs/                    a file for each program; kept when the fleet ends
//	run/                     a record of each program that was started
//	etcd/, own-etcd/, pki/   data, certificates and keys
//	snapshots/               copies of the data of clusters with an etcd of their own
//
// A test starts a fleet that dies with it, even if the test is killed:
//
//	fleet, err := localfleet.Start(ctx, localfleet.Options{StateDir: t.TempDir(), Clusters: 2})
//	...
//	defer fleet.Close()
//	client := kubernetes.NewForConfigOrDie(fleet.Management().Config())
//
// With ClusterAPI, the real Cluster API runs against the management cluster, with
// its webhooks, and clusters can be ordered as a Cluster with a topology. Their
// provider, tools/local/provider, is a program of its own: it is built like the
// other components, so that tests, whose executables know nothing of it, have
// the same one as the command line, and so that it can be killed like one. It
// supervises its clusters, in directories of their own and under a lock of their
// own, and starts again what dies. Detached, ordered clusters go on while it is
// away, and it takes them up again. Tied, they end with it as it ends with the
// fleet's starter, and it starts them again when it is back, with their data.
//
// With CertManager, the real controllers of cert-manager work in the management cluster, for issuers that sign by themselves or
// with a CA.
//
// A Detached fleet goes on after its starter, and is taken up again with Open.
package localfleet
