package localfleet

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
)

// Programs of a cluster, by the name of their binary.
const (
	apiServer   = "kube-apiserver"
	controllers = "kube-controller-manager"
	scheduler   = "kube-scheduler"
	kwok        = "kwok"
	velero      = "velero"
)

// seldomCollects lets an API server's garbage collector wait until the heap has quadrupled, and not doubled. Most of a
// test's processor time goes into API servers: they start with a sixth less of it, for some 50 MiB each.
const seldomCollects = "GOGC=300"

// programsOfCluster are in the order in which they are ended. The last one is
// only there if it is the cluster's own.
var programsOfCluster = []string{velero, kwok, scheduler, controllers, apiServer, etcdName}

// No packet is ever sent to these addresses, so all clusters may use the same.
const (
	serviceIPRange = "10.96.0.0/16"
	firstServiceIP = "10.96.0.1"
	podIPRange     = "10.244.0.0/16"
)

// managementControllers keep the management cluster's own objects in order;
// nothing runs there. Quotas count what customers make in their namespaces.
var managementControllers = []string{
	"namespace-controller",
	"garbage-collector-controller",
	"clusterrole-aggregation-controller",
	"resourcequota-controller",
}

// workloadControllers make workloads run, and scale, as in a real cluster.
// Left out is what belongs to machines, volumes and the network.
var workloadControllers = append([]string{
	"serviceaccount-controller",
	"serviceaccount-token-controller",
	"root-ca-certificate-publisher-controller",
	"deployment-controller",
	"replicaset-controller",
	"statefulset-controller",
	"daemonset-controller",
	"job-controller",
	"cronjob-controller",
	"ttl-after-finished-controller",
	"horizontal-pod-autoscaler-controller",
	"disruption-controller",
	"endpointslice-controller",
}, managementControllers...)

// loopbackURL is where a server of the fleet listens.
func loopbackURL(port int) string {
	return (&url.URL{Scheme: "https", Host: "127.0.0.1:" + strconv.Itoa(port)}).String()
}

func (c *Cluster) apiServerArgs() []string {
	etcdPKI := func(file string) string { return filepath.Join(c.fleet.paths.etcdPKI(), file) }
	args := []string{
		"--etcd-servers=" + c.etcd().url(),
		"--etcd-cafile=" + etcdPKI(certificateFile(authorityName)),
		"--etcd-certfile=" + etcdPKI(certificateFile(etcdClientName)),
		"--etcd-keyfile=" + etcdPKI(keyFile(etcdClientName)),
		"--etcd-prefix=" + etcdPrefix(c.name),
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(c.port),
		"--cert-dir=" + c.credentials.dir,
		"--tls-cert-file=" + c.credentials.file(certificateFile(servingName)),
		"--tls-private-key-file=" + c.credentials.file(keyFile(servingName)),
		"--client-ca-file=" + c.credentials.file(certificateFile(authorityName)),
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + c.credentials.file(serviceAccountKeyFile),
		"--service-account-signing-key-file=" + c.credentials.file(serviceAccountKeyFile),
		"--service-cluster-ip-range=" + serviceIPRange,
		"--disable-admission-plugins=" + strings.Join(c.disabledAdmissionPlugins(), ","),
		"--endpoint-reconciler-type=none",
		"--allow-privileged=true",
		"--profiling=false",
	}
	return append(args, c.options.APIServerArgs...)
}

// disabledAdmissionPlugins are those that wait for a controller that is not
// there: one takes new nodes' taints away, the other makes service accounts.
func (c *Cluster) disabledAdmissionPlugins() []string {
	plugins := []string{"TaintNodesByCondition"}
	if !c.runsPods() {
		plugins = append(plugins, "ServiceAccount")
	}
	return plugins
}

func (c *Cluster) controllersArgs() []string {
	names := managementControllers
	if c.runsPods() {
		names = workloadControllers
	}
	return []string{
		"--kubeconfig=" + c.credentials.file(programKubeconfigFile(controllers)),
		"--controllers=" + strings.Join(names, ","),
		"--service-account-private-key-file=" + c.credentials.file(serviceAccountKeyFile),
		"--root-ca-file=" + c.credentials.file(certificateFile(authorityName)),
		"--leader-elect=false",
		"--secure-port=0",
		"--profiling=false",
		"--kube-api-qps=200",
		"--kube-api-burst=400",
	}
}

func (c *Cluster) schedulerArgs() []string {
	return []string{
		"--kubeconfig=" + c.credentials.file(programKubeconfigFile(scheduler)),
		"--leader-elect=false",
		"--secure-port=0",
		"--profiling=false",
		"--kube-api-qps=200",
		"--kube-api-burst=400",
	}
}

// kwokArgs play all nodes. Their heartbeats are off, since nothing watches for
// them, and an idle cluster should be idle.
func (c *Cluster) kwokArgs(stagesDir string) ([]string, error) {
	stages, err := filepath.Glob(filepath.Join(stagesDir, "*.yaml"))
	if err != nil || len(stages) == 0 {
		return nil, fmt.Errorf("no stages for KWOK in %s: remove that directory, and it is made again", stagesDir)
	}
	own, err := writeStages(c.fleet.paths.kwok(c.name))
	if err != nil {
		return nil, err
	}
	args := []string{
		"--kubeconfig=" + c.credentials.file(programKubeconfigFile(kwok)),
		"--manage-all-nodes=true",
		"--cidr=" + podIPRange,
		"--node-ip=127.0.0.1",
		"--node-lease-duration-seconds=0",
	}
	for _, stage := range append(stages, own...) {
		args = append(args, "--config="+stage)
	}
	return args, nil
}
