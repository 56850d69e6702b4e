package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ReloadPolicy says what happens to the workloads that use an object when it changes.
//
// +kubebuilder:validation:Enum=None;RestartWorkloads
type ReloadPolicy string

// Reload policies.
const (
	// ReloadNone leaves it to them to load what changed.
	ReloadNone ReloadPolicy = "None"
	// ReloadRestartWorkloads restarts the Deployments, StatefulSets and DaemonSets that mount the object, or have environment
	// variables from it, within maintenance windows.
	ReloadRestartWorkloads ReloadPolicy = "RestartWorkloads"
)

// Probe is a TLS server of each cluster: a pod, one behind a service, which are connected to by way of the cluster's API server,
// or an address.
//
// +kubebuilder:validation:XValidation:rule="[has(self.service), has(self.pod), has(self.address)].filter(one, one).size() == 1",message="set one of service, pod and address"
// +kubebuilder:validation:XValidation:rule="has(self.port) != has(self.address)",message="a service or a pod needs port, and an address has its own"
type Probe struct {
	// service of which a ready pod is connected to.
	// +optional
	Service *ProbeService `json:"service,omitempty"`

	// pod that is connected to.
	// +optional
	Pod *ProbePod `json:"pod,omitempty"`

	// port of the service or of the pod.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`

	// address of the server, as in "shop.{{ .Cluster.Name }}.acme.example:443". It may hold what is known of the cluster, as
	// names in the certificate may.
	// +optional
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=253
	Address string `json:"address,omitempty"`

	// serverName that the server is asked for (SNI); the host of the address by default. It may hold what is known of the cluster.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ServerName string `json:"serverName,omitempty"`
}

// ProbeService names a service of each cluster.
type ProbeService struct {
	// namespace of the service.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespace string `json:"namespace,omitempty"`

	// name of the service.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`
}

// ProbePod selects a pod of each cluster.
//
// +kubebuilder:validation:XValidation:rule="has(self.selector.matchLabels) && size(self.selector.matchLabels) > 0 || has(self.selector.matchExpressions) && size(self.selector.matchExpressions) > 0",message="select pods by a label"
type ProbePod struct {
	// namespace of the pod.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespace string `json:"namespace,omitempty"`

	// selector of its labels. Of several pods, one that is ready is connected to.
	// +required
	Selector metav1.LabelSelector `json:"selector,omitzero"`
}
