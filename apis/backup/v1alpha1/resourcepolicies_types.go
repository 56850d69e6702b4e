package v1alpha1

// ResourcePolicies are those of Velero's that it reads from a ConfigMap, in version v1. They take up to 16 KiB there.
type ResourcePolicies struct {
	// volumePolicies say what becomes of volumes. The first whose conditions hold decides; a volume for which none decides is
	// treated as the rest of the template says.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	VolumePolicies []VolumePolicy `json:"volumePolicies,omitempty"`
}

// VolumePolicy says what becomes of volumes of a sort.
type VolumePolicy struct {
	// conditions that have to hold together; without any, the policy is for all volumes.
	// +optional
	Conditions VolumeConditions `json:"conditions,omitzero"` //nolint:kubeapilinter // A struct without required fields: omitzero is what omits it.

	// action is what Velero does with the volume.
	// +required
	Action VolumeAction `json:"action,omitzero"`
}

// VolumeConditions say of which volumes a policy speaks. Each that is set has to hold.
type VolumeConditions struct {
	// capacity is a range of sizes, as in "10Gi,100Gi"; one end may be missing, as in "10Gi,".
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=42
	// +kubebuilder:validation:Pattern=`^([0-9]{1,15}([KMGTPE]i|[kMGTPE])?)?,([0-9]{1,15}([KMGTPE]i|[kMGTPE])?)?$`
	// +kubebuilder:validation:XValidation:rule="self.startsWith(',') || self.endsWith(',') || quantity(self.split(',')[0]).compareTo(quantity(self.split(',')[1])) <= 0",message="capacity is a range whose first end is not greater than the second, as in 10Gi,100Gi"
	Capacity string `json:"capacity,omitempty"`

	// storageClass is one of these.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	StorageClass []string `json:"storageClass,omitempty"`

	// nfs is for volumes of NFS; with no more than that, for all of them.
	// +optional
	NFS *NFSVolumeCondition `json:"nfs,omitempty"`

	// csi is for volumes of CSI drivers; with no more than that, for all of them.
	// +optional
	CSI *CSIVolumeCondition `json:"csi,omitempty"`

	// volumeTypes are what the volume is made by, as in "hostPath": the names are those in the specs of volumes.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	VolumeTypes []VolumeType `json:"volumeTypes,omitempty"`

	// pvcLabels are labels that the PersistentVolumeClaim has.
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	// +kubebuilder:validation:XValidation:rule="self.all(key, size(key) <= 317 && size(self[key]) <= 63)",message="a label has at most 317 characters, and its value 63"
	PVCLabels map[string]string `json:"pvcLabels,omitempty"`

	// pvcPhase of the PersistentVolumeClaim is one of these.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=3
	// +kubebuilder:validation:items:Enum=Pending;Bound;Lost
	PVCPhase []string `json:"pvcPhase,omitempty"`

	// pvcVolumeMode is that of the PersistentVolumeClaim.
	// +optional
	// +kubebuilder:validation:Enum=Filesystem;Block
	PVCVolumeMode string `json:"pvcVolumeMode,omitempty"`

	// pvcAccessModes are those of the PersistentVolumeClaim, all of them.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:items:Enum=ReadWriteOnce;ReadOnlyMany;ReadWriteMany;ReadWriteOncePod
	PVCAccessModes []string `json:"pvcAccessModes,omitempty"`
}

// VolumeType is what a volume is made by.
//
// +kubebuilder:validation:Enum=awsAzureDisk;awsElasticBlockStore;azureDisk;azureFile;cinder;cephfs;configMap;csi;downwardAPI;emptyDir;ephemeral;fc;flocker;flexVolume;gitRepo;glusterfs;gcePersistentDisk;hostPath;iscsi;local;nfs;photonPersistentDisk;portworxVolume;projected;quobyte;rbd;scaleIO;secret;storageOS;vsphereVolume
type VolumeType string

// NFSVolumeCondition is for volumes of NFS.
type NFSVolumeCondition struct {
	// server is the name or the address of the server.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Server string `json:"server,omitempty"`

	// path is what the server exports.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Path string `json:"path,omitempty"`
}

// CSIVolumeCondition is for volumes of CSI drivers.
//
// +kubebuilder:validation:XValidation:rule="!has(self.volumeAttributes) || has(self.driver)",message="volumeAttributes belong to a driver: name it"
type CSIVolumeCondition struct {
	// driver is the name of the driver.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Driver string `json:"driver,omitempty"`

	// volumeAttributes that the volume has.
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	// +kubebuilder:validation:XValidation:rule="self.all(key, size(key) <= 253 && size(self[key]) <= 1024)",message="an attribute has at most 253 characters, and its value 1024"
	VolumeAttributes map[string]string `json:"volumeAttributes,omitempty"`
}

// VolumeAction is what Velero does with a volume.
type VolumeAction struct {
	// type is Skip, which leaves its data out, FsBackup, which copies it file by file, or Snapshot.
	// +required
	Type VolumeActionType `json:"type,omitempty"`
}

// VolumeActionType is what Velero does with a volume.
//
// +kubebuilder:validation:Enum=Skip;FsBackup;Snapshot
type VolumeActionType string

const (
	// SkipVolume leaves the data of a volume out.
	SkipVolume VolumeActionType = "Skip"
	// FsBackupVolume copies a volume file by file. It needs spec.storage.repositoryPasswordRef.
	FsBackupVolume VolumeActionType = "FsBackup"
	// SnapshotVolume takes a snapshot of a volume.
	SnapshotVolume VolumeActionType = "Snapshot"
)
