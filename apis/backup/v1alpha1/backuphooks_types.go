package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BackupHooks run commands in the pods that are backed up, in Velero's terms.
type BackupHooks struct {
	// resources are the hooks.
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Resources []BackupResourceHooks `json:"resources,omitempty"`
}

// BackupResourceHooks run in the pods that are selected. A pod with hooks of its own, as annotations, has those instead.
//
// +kubebuilder:validation:XValidation:rule="has(self.pre) || has(self.post)",message="there is nothing to run: set pre or post"
type BackupResourceHooks struct {
	// name of the hook.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`

	// includedNamespaces are the namespaces that it is for; all by default.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	IncludedNamespaces []string `json:"includedNamespaces,omitempty"`

	// excludedNamespaces are the namespaces that it is not for.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	ExcludedNamespaces []string `json:"excludedNamespaces,omitempty"`

	// includedResources are plural names; all by default. Velero runs hooks for pods alone.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	IncludedResources []string `json:"includedResources,omitempty"`

	// excludedResources are plural names.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	ExcludedResources []string `json:"excludedResources,omitempty"`

	// labelSelector selects pods; all by default.
	// +optional
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`

	// pre hooks run before the pod is stored, one after the other.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	Pre []BackupHook `json:"pre,omitempty"`

	// post hooks run after the pod is stored, one after the other.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	Post []BackupHook `json:"post,omitempty"`
}

// BackupHook is one hook.
type BackupHook struct {
	// exec is the command that it runs.
	// +required
	Exec ExecHook `json:"exec,omitzero"`
}

// ExecHook is a command that runs in a container.
type ExecHook struct {
	// container of the pod; the first by default.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Container string `json:"container,omitempty"`

	// command and its arguments. No shell reads them. Whoever can read the policy or Velero's Schedule can read them too.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=4096
	Command []string `json:"command,omitempty"`

	// onError is Fail, which runs none of the following hooks of the pod and is the default, or Continue. In both cases the
	// backup is PartiallyFailed.
	// +optional
	OnError HookErrorMode `json:"onError,omitempty"`

	// timeout of the command, from 1s to 1h; 30s by default.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('1h')",message="timeout is from 1s to 1h"
	Timeout *metav1.Duration `json:"timeout,omitempty"`
}

// HookErrorMode is what a command that fails means.
//
// +kubebuilder:validation:Enum=Continue;Fail
type HookErrorMode string
