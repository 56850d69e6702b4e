package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// Reasons of an AddonRelease's conditions, beside the common ones.
const (
	// ReasonRenderFailed: a template failed; the message names source, line and key.
	ReasonRenderFailed = "RenderFailed"
	// ReasonRenderLimit: rendering went beyond its limit of time, output or memory.
	ReasonRenderLimit = "RenderLimitExceeded"
	// ReasonInvalidManifest: a document is no Kubernetes object.
	ReasonInvalidManifest = "InvalidManifest"
	// ReasonValuesInvalid: the chart does not accept the values; the message names the paths.
	ReasonValuesInvalid = "ValuesInvalid"
	// ReasonChartRefused: the chart is not one that can be installed, or does harm; the message says why.
	ReasonChartRefused = "ChartRefused"
	// ReasonHookRunning: a hook of the chart is under way.
	ReasonHookRunning = "HookRunning"
	// ReasonHookFailed: a hook failed; the message tells the state of its pod.
	ReasonHookFailed = "HookFailed"
)

// AddonReleaseSpec is one add-on in one cluster, as its policy wants it.
type AddonReleaseSpec struct {
	metav1alpha1.TargetSpec `json:",inline"`

	// drift is the policy's.
	// +optional
	Drift metav1alpha1.DriftPolicy `json:"drift,omitzero"`

	// runTests is the policy's annotation daytwo.dev/run-tests.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	RunTests string `json:"runTests,omitempty"`

	// adopt is the policy's.
	// +optional
	Adopt bool `json:"adopt,omitempty"`
}

// AddonReleaseStatus is what became of it.
type AddonReleaseStatus struct {
	metav1alpha1.TargetStatus  `json:",inline"`
	metav1alpha1.ObjectsStatus `json:",inline"`

	// helm tells of the Helm release, if the source is a chart.
	// +optional
	Helm *HelmRelease `json:"helm,omitempty"`
}

// AddonRelease is one SaaSAddon in one workload cluster. Daytwo writes it; people read it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=ar,categories=daytwo-targets
// +kubebuilder:printcolumn:name="CLUSTER",type=string,JSONPath=`.spec.clusterRef.name`
// +kubebuilder:printcolumn:name="APPLIED",type=string,JSONPath=`.status.conditions[?(@.type=="Applied")].status`
// +kubebuilder:printcolumn:name="HEALTHY",type=string,JSONPath=`.status.conditions[?(@.type=="Healthy")].status`
// +kubebuilder:printcolumn:name="DRIFT",type=string,JSONPath=`.status.conditions[?(@.type=="Drifted")].status`
// +kubebuilder:printcolumn:name="CORRECTIONS",type=integer,priority=1,JSONPath=`.status.drift.count`
// +kubebuilder:printcolumn:name="REVISION",type=string,priority=1,JSONPath=`.status.revision`
// +kubebuilder:printcolumn:name="READY",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="STATUS",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
type AddonRelease struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is what the policy wants.
	// +required
	Spec AddonReleaseSpec `json:"spec,omitzero"`

	// status is what became of it.
	// +optional
	Status AddonReleaseStatus `json:"status,omitzero"`
}

// AddonReleaseList is a list of AddonReleases.
//
// +kubebuilder:object:root=true
type AddonReleaseList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []AddonRelease `json:"items"`
}
