package component

import (
	"maps"
	"slices"
)

// Names of components that are used for their files.
const (
	KwokStages         = "kwok-stages"
	ClusterAPICRDs     = "cluster-api-crds"
	ClusterAPIWebhooks = "cluster-api-webhooks"
	VeleroCRDs         = "velero-crds"
	CertManagerCRDs    = "cert-manager-crds"
)

// component is one directory of the cache: binaries built from a Go module, or
// files copied out of it.
type component struct {
	name string
	// source is the directory with its go.mod, seen from tools/local/components.
	source string
	// module is the one in source's go.mod whose version the component has. It is
	// "" for a program of this module, which is what its sources say.
	module string
	// packages are the main packages to build, by the name of the binary. One may
	// lie in source itself.
	packages map[string]string
	// files are files or directories of the module to copy.
	files []string
	// versionPackage is the package whose variables gitVersion, gitMajor and
	// gitMinor are set at link time, or "".
	versionPackage string
}

// programs returns the names of the component's binaries, in their order.
func (c component) programs() []string { return slices.Sorted(maps.Keys(c.packages)) }

func catalog() []component {
	const kubernetesVersion = "k8s.io/component-base/version"
	kubernetesPrograms := map[string]string{
		"kube-apiserver":          "k8s.io/kubernetes/cmd/kube-apiserver",
		"kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
		"kube-scheduler":          "k8s.io/kubernetes/cmd/kube-scheduler",
	}
	return []component{
		{
			name:     "etcd",
			source:   "etcd",
			module:   "go.etcd.io/etcd/server/v3",
			packages: map[string]string{"etcd": "go.etcd.io/etcd/server/v3"},
		},
		{
			// One build for the three shares what they have in common.
			name:           "kubernetes",
			source:         "kubernetes",
			module:         "k8s.io/kubernetes",
			packages:       kubernetesPrograms,
			versionPackage: kubernetesVersion,
		},
		{
			// What clusters are upgraded from.
			name:           "kubernetes-1.35",
			source:         "kubernetes-1.35",
			module:         "k8s.io/kubernetes",
			packages:       kubernetesPrograms,
			versionPackage: kubernetesVersion,
		},
		{
			name:           "kubectl",
			source:         "kubernetes",
			module:         "k8s.io/kubernetes",
			packages:       map[string]string{"kubectl": "k8s.io/kubernetes/cmd/kubectl"},
			versionPackage: kubernetesVersion,
		},
		{
			name:     "kwok",
			source:   "kwok",
			module:   "sigs.k8s.io/kwok",
			packages: map[string]string{"kwok": "sigs.k8s.io/kwok/cmd/kwok"},
		},
		{
			name:   KwokStages,
			source: "kwok",
			module: "sigs.k8s.io/kwok",
			files: []string{
				"kustomize/stage/node/fast/node-initialize.yaml",
				"kustomize/stage/node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
				"kustomize/stage/pod/fast/pod-ready.yaml",
				"kustomize/stage/pod/fast/pod-complete.yaml",
			},
		},
		{
			name:   ClusterAPICRDs,
			source: "clusterapi",
			module: "sigs.k8s.io/cluster-api",
			files:  []string{"core/config/crd/bases"},
		},
		{
			name:   ClusterAPIWebhooks,
			source: "clusterapi",
			module: "sigs.k8s.io/cluster-api",
			files:  []string{"core/config/webhook/manifests.yaml"},
		},
		{
			name:           "cluster-api",
			source:         "clusterapi",
			module:         "sigs.k8s.io/cluster-api",
			packages:       map[string]string{"cluster-api": "sigs.k8s.io/cluster-api/core"},
			versionPackage: "sigs.k8s.io/cluster-api/version",
		},
		{
			// It has a main package of its own, which says why.
			name:     "velero",
			source:   "velero",
			module:   "github.com/vmware-tanzu/velero",
			packages: map[string]string{"velero": ownPackages + "velero"},
		},
		{
			name:   VeleroCRDs,
			source: "velero",
			module: "github.com/vmware-tanzu/velero",
			files:  []string{"config/crd/v1/bases", "config/crd/v2alpha1/bases"},
		},
		{
			name:     "velero-plugin-for-aws",
			source:   "velero-plugin-for-aws",
			module:   "github.com/vmware-tanzu/velero-plugin-for-aws",
			packages: map[string]string{"velero-plugin-for-aws": "github.com/vmware-tanzu/velero-plugin-for-aws/velero-plugin-for-aws"},
		},
		{
			name:     "versitygw",
			source:   "versitygw",
			module:   "github.com/versity/versitygw",
			packages: map[string]string{"versitygw": "github.com/versity/versitygw/cmd/versitygw"},
		},
		{
			// It has a main package of its own, which says why.
			name:     "cert-manager",
			source:   "certmanager",
			module:   "github.com/cert-manager/cert-manager",
			packages: map[string]string{"cert-manager": ownPackages + "certmanager"},
		},
		{
			name:   CertManagerCRDs,
			source: "certmanager",
			module: "github.com/cert-manager/cert-manager",
			files:  []string{"deploy/crds"},
		},
		{
			name:     "local-provider",
			source:   "../..",
			packages: map[string]string{"local-provider": "github.com/daytwo-dev/daytwo/tools/local/provider"},
		},
	}
}
