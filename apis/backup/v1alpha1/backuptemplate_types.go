package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BackupTemplate says what a backup holds, in Velero's terms. Everything that is not excluded is in it.
//
// +kubebuilder:validation:XValidation:rule="!has(self.labelSelector) || !has(self.orLabelSelectors)",message="labelSelector and orLabelSelectors exclude each other: write the first as one of the others"
type BackupTemplate struct {
	// includedNamespaces are the namespaces that are backed up; all by default.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	IncludedNamespaces []string `json:"includedNamespaces,omitempty"`

	// excludedNamespaces are left out, beside that of Velero, which always is.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	ExcludedNamespaces []string `json:"excludedNamespaces,omitempty"`

	// includedResources are plural names, as in "deployments.apps"; all by default.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	IncludedResources []string `json:"includedResources,omitempty"`

	// excludedResources are plural names.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	ExcludedResources []string `json:"excludedResources,omitempty"`

	// includeClusterResources is whether objects without a namespace are in it: those that belong to objects of its
	// namespaces by default.
	// +optional
	IncludeClusterResources *bool `json:"includeClusterResources,omitempty"`

	// labelSelector selects objects; all by default.
	// +optional
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`

	// orLabelSelectors select objects that match any of them. They exclude labelSelector.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	OrLabelSelectors []metav1.LabelSelector `json:"orLabelSelectors,omitempty"`

	// snapshotVolumes takes snapshots of volumes, where a snapshot location or a CSI driver can.
	// +optional
	SnapshotVolumes *bool `json:"snapshotVolumes,omitempty"`

	// snapshotMoveData moves the data of CSI snapshots into the storage.
	// +optional
	SnapshotMoveData *bool `json:"snapshotMoveData,omitempty"`

	// defaultVolumesToFsBackup backs up volumes of pods file by file.
	// +optional
	DefaultVolumesToFsBackup *bool `json:"defaultVolumesToFsBackup,omitempty"`

	// csiSnapshotTimeout is how long Velero waits for a CSI snapshot to become usable, from 1m to 24h; 10m by default.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m') && duration(self) <= duration('24h')",message="csiSnapshotTimeout is from 1m to 24h"
	CSISnapshotTimeout *metav1.Duration `json:"csiSnapshotTimeout,omitempty"`

	// itemOperationTimeout is how long Velero waits for operations of plugins, such as the upload of a snapshot, from 1m to
	// 24h; 4h by default.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m') && duration(self) <= duration('24h')",message="itemOperationTimeout is from 1m to 24h"
	ItemOperationTimeout *metav1.Duration `json:"itemOperationTimeout,omitempty"`

	// uploaderConfig is of what uploads the data of volumes.
	// +optional
	UploaderConfig *UploaderConfig `json:"uploaderConfig,omitempty"`

	// resourcePolicies say what becomes of single volumes.
	// +optional
	ResourcePolicies *ResourcePolicies `json:"resourcePolicies,omitempty"`

	// hooks run commands in the pods that are backed up. They need the manager's flag --allow-backup-hooks. Pods may have
	// hooks of their own, as annotations (pre.hook.backup.velero.io/command): those run with and without the flag, and in
	// place of the hooks here, since Velero has no switch for them.
	// +optional
	Hooks *BackupHooks `json:"hooks,omitempty"`
}

// UploaderConfig is of what uploads the data of volumes.
type UploaderConfig struct {
	// parallelFilesUpload is how many files of a volume are uploaded at a time, from 1 to 64; by default as many as the node
	// has processors.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	ParallelFilesUpload int32 `json:"parallelFilesUpload,omitempty"`
}
