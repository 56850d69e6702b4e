package localfleet

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Options say what Start brings up.
type Options struct {
	// StateDir holds everything that belongs to the fleet. Two fleets cannot
	// share one.
	StateDir string
	// Clusters is the number of workload clusters: workload-1, workload-2, …
	Clusters int
	// ClusterOptions are those of the management cluster and of all workload
	// clusters that Start adds.
	ClusterOptions
	// ClusterAPI runs Cluster API against the management cluster, with a provider
	// that makes clusters of this fleet, and the classes of ClassNamespace to order
	// them in.
	ClusterAPI bool
	// CertManager runs cert-manager's controllers against the management cluster, for issuers that sign by themselves or
	// with a CA. Its webhook is left out: nothing refuses a Certificate that the definitions permit.
	CertManager bool
	// Detached lets the fleet go on after Close and after the program's end.
	// Otherwise it ends with either.
	Detached bool
	// ManagerKubeconfig changes the kubeconfig that the manager is started with, so
	// that a proxy can stand between it and the management cluster. Nil leaves it.
	ManagerKubeconfig func(direct []byte) ([]byte, error)
	// VersionsLater starts the fleet without the older versions of Kubernetes, which only ordered clusters have. Call
	// ProvideVersions then, before such a cluster is ordered.
	VersionsLater bool
	// Progress is told what happens, a line at a time. Nil keeps it quiet.
	Progress io.Writer
	// Components is told what is downloaded and built: a line that ends with a newline for each change, and in between
	// lines that end with a carriage return, which a terminal shows in one place. Nil tells Progress, without the latter
	// unless it is a terminal.
	Components io.Writer
}

// ClusterOptions say how one cluster differs from the usual.
type ClusterOptions struct {
	// Bare leaves out everything but the API server: no controllers, no
	// scheduler, no nodes. A namespace that is deleted then stays Terminating.
	Bare bool `json:"bare,omitempty"`
	// Version is that of Kubernetes, one of Fleet.KubernetesVersions; "" is the
	// newest, or the prebuilt one.
	Version string `json:"version,omitempty"`
	// APIServerArgs are further flags of kube-apiserver, such as
	// "--min-request-timeout=5". They win over the fleet's own.
	APIServerArgs []string `json:"apiServerArgs,omitempty"`
	// OwnEtcd gives the cluster an etcd of its own in the place of the fleet's, so
	// that Cluster.Snapshot and Cluster.Restore are possible. It cannot be changed
	// later.
	OwnEtcd bool `json:"ownEtcd,omitempty"`
	// Velero runs a Velero server for the cluster, unless it is Bare or the management cluster. As an option of a fleet
	// it also runs an S3 gateway, which Fleet.Storage tells of, and clusters ordered through Cluster API have a server
	// too.
	Velero bool `json:"velero,omitempty"`
}

func (o Options) complete() (Options, error) {
	if o.StateDir == "" {
		return o, errors.New("a fleet needs a state directory: set StateDir")
	}
	if o.Clusters < 0 {
		return o, fmt.Errorf("a fleet cannot have %d clusters", o.Clusters)
	}
	dir, err := filepath.Abs(o.StateDir)
	if err != nil {
		return o, err
	}
	o.StateDir = dir
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	lines := newLineWriter(o.Progress)
	o.Progress = lines
	if o.Components == nil {
		o.Components = lines
		return o, nil
	}
	o.Components = &lineWriter{out: o.Components, transient: true}
	return o, nil
}

// workloadName is the name of the workload cluster that Start adds as number i,
// counted from 1.
func workloadName(i int) string {
	return fmt.Sprintf("workload-%d", i)
}

func validateClusterName(name string) error {
	if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
		return fmt.Errorf("%q cannot be the name of a cluster: %s", name, problems[0])
	}
	if slices.Contains([]string{managementName, etcdName, managerName, replicaName, clusterAPIName, providerName, storageName, certManagerName}, name) {
		return fmt.Errorf("%q cannot be the name of a workload cluster: the fleet uses it itself", name)
	}
	return nil
}

func cacheDir() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no directory to keep built components in; set HOME or XDG_CACHE_HOME: %w", err)
	}
	return filepath.Join(dir, "daytwo"), nil
}
