package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// Reasons of a SaaSAddon's Ready and Stalled, beside the common ones.
const (
	// ReasonFetching: the chart is being fetched.
	ReasonFetching = "Fetching"
)

// SaaSAddonSpec says what runs in which clusters.
//
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.source.chart) || has(self.source.chart)",message="an add-on that is a chart stays one: delete it, and create another"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.source.chart) || !has(self.__namespace__) || !has(oldSelf.__namespace__) || self.__namespace__ == oldSelf.__namespace__",message="the namespace of a Helm release cannot be changed: delete the add-on, and create another"
// +kubebuilder:validation:XValidation:rule="has(self.source.chart) || !has(self.valuesFrom)",message="valuesFrom belongs to source.chart; manifests are templates of their own"
type SaaSAddonSpec struct {
	metav1alpha1.PolicySpec `json:",inline"`

	// namespace in the workload cluster for namespaced objects that name none. The default is default.
	// +optional
	// +default="default"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespace string `json:"namespace,omitempty"`

	// createNamespace creates that namespace where it is missing. One that Daytwo made goes again
	// with the add-on, if it is otherwise empty.
	// +optional
	CreateNamespace bool `json:"createNamespace,omitempty"`

	// source of the objects.
	// +required
	Source AddonSource `json:"source,omitzero"`

	// values for the chart. Strings in it are Go templates, as manifests are: "{{ .Cluster.Name }}".
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Values *apiextensionsv1.JSON `json:"values,omitempty"`

	// valuesFrom are further values, each over those before it; the first one is over values. Strings
	// in them are templates too.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	ValuesFrom []ValuesReference `json:"valuesFrom,omitempty"`

	// adopt takes over what other tools made of the add-on: objects that Helm, Flux, Argo CD, Rancher Fleet, Sveltos or
	// Gardener marked, and of a chart the Helm release of that name, without installing it anew. The default is false: then
	// they are a conflict.
	// +optional
	Adopt bool `json:"adopt,omitempty"`

	// drift says what happens when somebody else changes an object of the add-on.
	// +optional
	// +default={}
	Drift metav1alpha1.DriftPolicy `json:"drift,omitzero"` //nolint:kubeapilinter // A struct of another package: omitzero is what omits it.
}

// AddonSource is where an add-on's objects come from.
//
// +kubebuilder:validation:XValidation:rule="has(self.manifests) != has(self.chart)",message="set manifests or chart"
type AddonSource struct {
	// manifests are Kubernetes objects as YAML, with Go templates in it.
	// +optional
	Manifests *ManifestSource `json:"manifests,omitempty"`

	// chart is a Helm chart.
	// +optional
	Chart *ChartSource `json:"chart,omitempty"`
}

// ManifestSource holds YAML documents. They are Go templates over .Cluster.Name,
// .Cluster.Namespace, .Cluster.Labels and .Cluster.Version (as in "1.36"). An unknown key is an error.
//
// +kubebuilder:validation:XValidation:rule="has(self.inline) || has(self.configMapRefs)",message="set inline, configMapRefs, or both"
type ManifestSource struct {
	// inline YAML, one or more documents, at most 512 KiB.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=524288
	Inline string `json:"inline,omitempty"`

	// configMapRefs name ConfigMaps of the same namespace, all of whose keys are YAML, taken in
	// alphabetical order after inline.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	ConfigMapRefs []metav1alpha1.LocalReference `json:"configMapRefs,omitempty"`
}

// SaaSAddonStatus sums up the targets.
type SaaSAddonStatus struct {
	metav1alpha1.PolicyStatus `json:",inline"`

	// chart that the current revision is made of.
	// +optional
	Chart *ResolvedChart `json:"chart,omitempty"`
}

// SaaSAddon is an add-on in every selected workload cluster.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 53 || !has(self.spec.source.chart) || has(self.spec.source.chart.releaseName)",message="Helm release names have at most 53 characters: set spec.source.chart.releaseName"
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="metadata.name must be at most 63 characters: it is used as a label value"
// +kubebuilder:resource:shortName=addon,categories=daytwo
// +kubebuilder:printcolumn:name="CLUSTERS",type=integer,JSONPath=`.status.clusters.selected.count`
// +kubebuilder:printcolumn:name="UPDATED",type=integer,JSONPath=`.status.clusters.updated.count`
// +kubebuilder:printcolumn:name="FAILED",type=integer,JSONPath=`.status.clusters.failed.count`
// +kubebuilder:printcolumn:name="UNREACHABLE",type=integer,JSONPath=`.status.clusters.unreachable.count`
// +kubebuilder:printcolumn:name="REVISION",type=string,priority=1,JSONPath=`.status.revision`
// +kubebuilder:printcolumn:name="READY",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="STATUS",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
type SaaSAddon struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec says what runs in which clusters.
	// +required
	Spec SaaSAddonSpec `json:"spec,omitzero"`

	// status sums up the targets.
	// +optional
	Status SaaSAddonStatus `json:"status,omitzero"`
}

// SaaSAddonList is a list of SaaSAddons.
//
// +kubebuilder:object:root=true
type SaaSAddonList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []SaaSAddon `json:"items"`
}
