package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// BackupPolicySpec says what is backed up in which clusters, when, where to, and for how long it is kept.
//
// +kubebuilder:validation:XValidation:rule="!has(self.clusterNamespaceSelector) || !has(self.storage.drillCredentials) || (has(self.storage.drillCredentials.allowShared) && self.storage.drillCredentials.allowShared) || !has(self.storage.drillCredentials.secretName) || self.storage.drillCredentials.secretName.contains('{{ .Cluster.Namespace }}')",message="this policy is for clusters of several customers, and drills put its drill credentials into their standbys: write {{ .Cluster.Namespace }} into spec.storage.drillCredentials.secretName, so that each customer has its own, or set allowShared"
// +kubebuilder:validation:XValidation:rule="!has(self.clusterNamespaceSelector) || (has(self.storage.credentials.allowShared) && self.storage.credentials.allowShared) || !has(self.storage.credentials.secretName) || self.storage.credentials.secretName.contains('{{ .Cluster.Namespace }}')",message="this policy is for clusters of several customers, and whoever is cluster-admin in one of them can read its credentials: write {{ .Cluster.Namespace }} into spec.storage.credentials.secretName, so that each customer has its own, or set allowShared"
// +kubebuilder:validation:XValidation:rule="!has(self.deletionPolicy) || self.deletionPolicy != 'Orphan' || !has(self.retention) || !has(self.retention.deletionPolicy) || self.retention.deletionPolicy != 'DeleteBackups'",message="deletionPolicy Orphan leaves everything in the clusters, and retention.deletionPolicy DeleteBackups nothing: choose one"
// +kubebuilder:validation:XValidation:rule="!has(self.template) || has(self.storage.repositoryPasswordRef) || !(has(self.template.defaultVolumesToFsBackup) && self.template.defaultVolumesToFsBackup || has(self.template.snapshotMoveData) && self.template.snapshotMoveData || has(self.template.resourcePolicies) && self.template.resourcePolicies.volumePolicies.exists(policy, policy.action.type == 'FsBackup'))",message="this template stores the data of volumes in repositories, and Velero's own password for them is known to everybody: name a Secret with another one in spec.storage.repositoryPasswordRef"
// +kubebuilder:validation:XValidation:rule="!has(self.clusterNamespaceSelector) || !has(self.storage.repositoryPasswordRef) || (has(self.storage.repositoryPasswordRef.allowShared) && self.storage.repositoryPasswordRef.allowShared) || self.storage.repositoryPasswordRef.secretName.contains('{{ .Cluster.Namespace }}')",message="this policy is for clusters of several customers, and whoever is cluster-admin in one of them can read its repository password: write {{ .Cluster.Namespace }} into spec.storage.repositoryPasswordRef.secretName, so that each customer has its own, or set allowShared"
type BackupPolicySpec struct {
	metav1alpha1.PolicySpec `json:",inline"`

	// schedule says when backups start.
	// +required
	Schedule BackupSchedule `json:"schedule,omitzero"`

	// template says what a backup holds.
	// +optional
	// +default={}
	Template BackupTemplate `json:"template,omitzero"` //nolint:kubeapilinter // A struct without required fields: omitzero is what omits it.

	// storage is where backups go.
	// +required
	Storage BackupStorage `json:"storage,omitzero"`

	// retention says for how long a backup is kept.
	// +optional
	// +default={}
	Retention BackupRetention `json:"retention,omitzero"` //nolint:kubeapilinter // As above.

	// objectives are what the backups are measured against.
	// +optional
	Objectives PolicyObjectives `json:"objectives,omitzero"`

	// drills are rehearsals that are made in every cluster by schedule.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	Drills []DrillPlan `json:"drills,omitempty"`

	// evidence is a bucket in which a copy of what drills prove is kept; without it, it is in ConfigMaps alone.
	// +optional
	Evidence *EvidenceStorage `json:"evidence,omitempty"`

	// acceptPartiallyFailed takes a backup in which single objects failed (Velero's PartiallyFailed) for a good one.
	// +optional
	AcceptPartiallyFailed bool `json:"acceptPartiallyFailed,omitempty"`

	// minItems is how many objects a good backup has at least: a filter that matches nothing makes for an empty backup,
	// which Velero calls Completed. The default is 1.
	// +optional
	// +default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	MinItems *int32 `json:"minItems,omitempty"`

	// requireVolumes takes a backup for a good one only if it has the data of all volumes that it came across. It holds for
	// the backups that are there, too. One of which the bucket was not read yet counts as neither.
	// +optional
	RequireVolumes bool `json:"requireVolumes,omitempty"`

	// veleroNamespace is where Velero is installed in the clusters. The default is velero.
	// +optional
	// +default="velero"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="veleroNamespace is immutable: create another policy"
	VeleroNamespace string `json:"veleroNamespace,omitempty"`

	// drift says what happens when somebody else changes what Daytwo made for Velero.
	// +optional
	// +default={}
	Drift metav1alpha1.DriftPolicy `json:"drift,omitzero"` //nolint:kubeapilinter // A struct of another package: omitzero is what omits it.
}

// BackupSchedule says when backups start.
type BackupSchedule struct {
	Recurrence `json:",inline"`

	StartRules `json:",inline"`
}

// BackupStorage is an S3 bucket. Each cluster has a prefix of its own in it, which follows from its identity.
//
// +kubebuilder:validation:XValidation:rule="self.bucket == oldSelf.bucket && self.prefix == oldSelf.prefix && has(self.endpoint) == has(oldSelf.endpoint) && (!has(self.endpoint) || self.endpoint == oldSelf.endpoint)",message="bucket, prefix and endpoint are immutable, since the backups that are there would be lost sight of: create another policy, and delete this one when its backups have expired"
type BackupStorage struct {
	// bucket that exists.
	// +required
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9][-.a-z0-9]*[a-z0-9]$`
	Bucket string `json:"bucket,omitempty"`

	// prefix of everything that Daytwo keeps in the bucket, without slashes at its ends; "daytwo" by default.
	// +optional
	// +default="daytwo"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9][-_.a-zA-Z0-9]*(/[a-zA-Z0-9][-_.a-zA-Z0-9]*)*$`
	Prefix string `json:"prefix,omitempty"`

	// region of the bucket.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Region string `json:"region,omitempty"`

	// endpoint is the URL of an S3 service other than Amazon's, as its clusters reach it.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^https?://[^/?#@]+$`
	Endpoint string `json:"endpoint,omitempty"`

	// caRef names a key of a ConfigMap in the policy's namespace with the certificates, in PEM, that the endpoint is
	// trusted by; those of the system by default.
	// +optional
	CARef *ConfigMapKey `json:"caRef,omitempty"`

	// checksumAlgorithm that Velero sends with what it writes. A bucket with an object lock needs one: CRC32 by default without
	// endpoint, and none with it, since many services know none.
	// +optional
	// +kubebuilder:validation:Enum=CRC32;CRC32C;SHA1;SHA256
	ChecksumAlgorithm string `json:"checksumAlgorithm,omitempty"`

	// credentials that clusters use.
	// +required
	Credentials StorageCredentials `json:"credentials,omitzero"`

	// drillCredentials that drills use instead: to read the bucket, and in the cluster into which they restore if that is
	// another one. They need to read the prefix of the cluster that was backed up, and to write below its "restores/" alone. By
	// default drills use the credentials of that cluster.
	// +optional
	DrillCredentials *StorageCredentials `json:"drillCredentials,omitempty"`

	// repositoryPasswordRef names the password that Velero encrypts the data of volumes with, where it stores them in the
	// bucket itself. Without it Velero uses its own, which is published.
	// +optional
	RepositoryPasswordRef *RepositoryPasswordRef `json:"repositoryPasswordRef,omitempty"`
}

// EvidenceStorage is an S3 bucket for documents with what drills prove. Nothing of it gets into a workload cluster.
//
// +kubebuilder:validation:XValidation:rule="has(self.region) || !has(self.endpoint) && !has(self.caRef)",message="endpoint and caRef belong to a region: without it, the bucket is where that of spec.storage is"
type EvidenceStorage struct {
	// bucket that exists. One with versions or an object lock keeps the documents from whoever has the credentials.
	// +required
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9][-.a-z0-9]*[a-z0-9]$`
	Bucket string `json:"bucket,omitempty"`

	// prefix of the documents, without slashes at its ends; "daytwo-evidence" by default.
	// +optional
	// +default="daytwo-evidence"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9][-_.a-zA-Z0-9]*(/[a-zA-Z0-9][-_.a-zA-Z0-9]*)*$`
	Prefix string `json:"prefix,omitempty"`

	// region of the bucket; by default region, endpoint and caRef are those of spec.storage.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Region string `json:"region,omitempty"`

	// endpoint is the URL of an S3 service other than Amazon's.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^https?://[^/?#@]+$`
	Endpoint string `json:"endpoint,omitempty"`

	// caRef names a key of a ConfigMap in the policy's namespace with the certificates, in PEM, that the endpoint is
	// trusted by; those of the system by default.
	// +optional
	CARef *ConfigMapKey `json:"caRef,omitempty"`

	// secretName is the name of a Secret in the policy's namespace with the keys aws_access_key_id and
	// aws_secret_access_key, and aws_session_token if there is one. They need s3:PutObject below the prefix, and nothing else.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	SecretName string `json:"secretName,omitempty"`
}

// ConfigMapKey is a key of a ConfigMap in the same namespace.
type ConfigMapKey struct {
	// name of the ConfigMap.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// key in it. The default is ca.crt.
	// +optional
	// +default="ca.crt"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key,omitempty"`
}

// StorageCredentials are put into the cluster that they are for, where every administrator can read them. They are given in
// Secrets in the policy's namespace, or minted for each cluster.
//
// +kubebuilder:validation:XValidation:rule="has(self.secretName) != has(self.assumeRole)",message="set one of secretName and assumeRole"
type StorageCredentials struct {
	// secretName is the name of a Secret with the keys aws_access_key_id and aws_secret_access_key, and aws_session_token
	// if there is one. {{ .Cluster.Name }} and {{ .Cluster.Namespace }} in it stand for those of the TenantCluster, so
	// that each has its own.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([-.a-z0-9]|\{\{ \.Cluster\.(Name|Namespace) \}\})+$`
	SecretName string `json:"secretName,omitempty"`

	// assumeRole mints temporary credentials for each cluster, which are good for its prefix alone. Those for drills cannot be
	// minted.
	// +optional
	AssumeRole *AssumeRole `json:"assumeRole,omitempty"`

	// allowShared lets clusters of several customers have the same credentials. Who is cluster-admin in one of them can then
	// read and delete the backups of all.
	// +optional
	AllowShared bool `json:"allowShared,omitempty"`
}

// RepositoryPasswordRef names Secrets in the policy's namespace with the password of Velero's repositories. What is in one is
// put into the cluster that it is for, where every administrator can read it. Velero has one password for all repositories of
// a cluster, and cannot change it once there is a repository.
type RepositoryPasswordRef struct {
	// secretName is the name of a Secret. {{ .Cluster.Name }} and {{ .Cluster.Namespace }} in it stand for those of the
	// TenantCluster, so that each has its own.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([-.a-z0-9]|\{\{ \.Cluster\.(Name|Namespace) \}\})+$`
	SecretName string `json:"secretName,omitempty"`

	// key in it with the password, of 16 to 1024 characters. The default is password.
	// +optional
	// +default="password"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key,omitempty"`

	// allowShared lets clusters of several customers have the same password.
	// +optional
	AllowShared bool `json:"allowShared,omitempty"`
}

// AssumeRole mints temporary credentials with AWS STS, as the role allows what the manager is to AWS. They are renewed at half
// their life. The external ID is "daytwo:" and the namespace of the policy: the trust policy of the role should demand it, since
// others write policies too.
type AssumeRole struct {
	// roleARN is the role, as in "arn:aws:iam::123456789012:role/backups". It needs what Velero does in the whole prefix of the
	// policy; the credentials of a cluster get of that what is below the cluster's own.
	// +required
	// +kubebuilder:validation:MinLength=20
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^arn:[-a-z]+:iam:[-a-z0-9]*:[0-9]*:role/[-\w+=,.@/]+$`
	RoleARN string `json:"roleARN,omitempty"`

	// endpoint is the URL of an STS other than Amazon's. It is trusted by spec.storage.caRef.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^https://[^/?#@]+$`
	Endpoint string `json:"endpoint,omitempty"`

	// duration is the life of the credentials, from 15m to 12h, and no longer than the role's maximum session duration. It is at
	// least twice template.itemOperationTimeout, which Velero has at 4h by default, so that a backup that starts just before a
	// renewal comes to its end.
	// +optional
	// +default="12h"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('15m') && duration(self) <= duration('12h')",message="duration is from 15m to 12h"
	Duration *metav1.Duration `json:"duration,omitempty"`
}

// BackupRetention says for how long a backup is kept.
type BackupRetention struct {
	// ttl is how long after its start a backup expires, at least an hour. The default is 720h.
	// +optional
	// +default="720h"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1h')",message="ttl is at least 1h"
	TTL *metav1.Duration `json:"ttl,omitempty"`

	// keepLast is how many good backups of a cluster stay beyond ttl: the last ones. From 1 to 100, so that the last good one
	// stays when backups fail. The default is 1.
	// +optional
	// +default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	KeepLast int32 `json:"keepLast,omitempty"`

	// deletionPolicy is what becomes of a cluster's backups when the policy ends there: KeepBackups leaves them in the bucket,
	// DeleteBackups has Velero delete all of them first. The default is KeepBackups.
	// +optional
	// +default="KeepBackups"
	DeletionPolicy BackupDeletionPolicy `json:"deletionPolicy,omitempty"`
}

// BackupDeletionPolicy is what becomes of a cluster's backups when their policy ends there.
//
// +kubebuilder:validation:Enum=KeepBackups;DeleteBackups
type BackupDeletionPolicy string

const (
	// KeepBackups leaves them in the bucket, from where nothing deletes them any more.
	KeepBackups BackupDeletionPolicy = "KeepBackups"
	// DeleteBackups deletes them before what Velero needs for that is removed.
	DeleteBackups BackupDeletionPolicy = "DeleteBackups"
)

// PolicyObjectives are what backups and drills of a policy are measured against.
type PolicyObjectives struct {
	RecoveryObjectives `json:",inline"`

	// maxDrillAge is how long ago the last drill of a cluster may be that came to a result, from 1h.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1h')",message="maxDrillAge is at least 1h"
	MaxDrillAge *metav1.Duration `json:"maxDrillAge,omitempty"`
}

// RecoveryObjectives are what a recovery is measured against.
type RecoveryObjectives struct {
	// rpo is how old the data may be that a recovery would bring back: the age of the last good backup, from its start.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('5m')",message="rpo is at least 5m"
	// +kubebuilder:validation:Format=duration
	RPO *metav1.Duration `json:"rpo,omitempty"`

	// rto is how long a recovery may take, from its start until everything is checked.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m')",message="rto is at least 1m"
	// +kubebuilder:validation:Format=duration
	RTO *metav1.Duration `json:"rto,omitempty"`
}

// BackupPolicyStatus sums up the targets.
type BackupPolicyStatus struct {
	metav1alpha1.PolicyStatus `json:",inline"`

	// readyClusters is in how many of the selected clusters the target is Ready at the current revision, as in "48/50".
	// +optional
	// +kubebuilder:validation:MaxLength=32
	ReadyClusters string `json:"readyClusters,omitempty"`

	// backups sum up those of all clusters; absent before there is a cluster.
	// +optional
	Backups *BackupSummary `json:"backups,omitempty"`
}

// BackupSummary is what the backups of a policy's clusters come to.
type BackupSummary struct {
	// oldest is the start of the oldest among the last good backups of the clusters: the age of the data that a recovery would
	// bring back at worst. It is absent while a cluster has none.
	// +optional
	Oldest *metav1.Time `json:"oldest,omitempty"`

	// next is when the next backup starts in any of the clusters.
	// +optional
	Next *metav1.Time `json:"next,omitempty"`

	// rpoMet is in how many clusters the last good backup is young enough, as in "48/50".
	// +optional
	// +kubebuilder:validation:MaxLength=32
	RPOMet string `json:"rpoMet,omitempty"`

	// proven is of how many clusters a drill has shown that their backups restore, as in "48/50".
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Proven string `json:"proven,omitempty"`
}

// BackupPolicy backs up every selected workload cluster.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="metadata.name must be at most 63 characters: it is used as a label value"
// +kubebuilder:resource:shortName=bp,categories=daytwo
// +kubebuilder:printcolumn:name="CLUSTERS",type=string,JSONPath=`.status.readyClusters`
// +kubebuilder:printcolumn:name="UPDATED",type=integer,JSONPath=`.status.clusters.updated.count`
// +kubebuilder:printcolumn:name="FAILED",type=integer,JSONPath=`.status.clusters.failed.count`
// +kubebuilder:printcolumn:name="UNREACHABLE",type=integer,JSONPath=`.status.clusters.unreachable.count`
// +kubebuilder:printcolumn:name="LAST",type=date,JSONPath=`.status.backups.oldest`
// +kubebuilder:printcolumn:name="NEXT",type=string,priority=1,JSONPath=`.status.backups.next`
// +kubebuilder:printcolumn:name="RPO",type=string,JSONPath=`.status.backups.rpoMet`
// +kubebuilder:printcolumn:name="PROVEN",type=string,JSONPath=`.status.backups.proven`
// +kubebuilder:printcolumn:name="SCHEDULE",type=string,priority=1,JSONPath=`.spec.schedule.cron`
// +kubebuilder:printcolumn:name="READY",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="STATUS",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
type BackupPolicy struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec says what is backed up.
	// +required
	Spec BackupPolicySpec `json:"spec,omitzero"`

	// status sums up the targets.
	// +optional
	Status BackupPolicyStatus `json:"status,omitzero"`
}

// BackupPolicyList is a list of BackupPolicies.
//
// +kubebuilder:object:root=true
type BackupPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []BackupPolicy `json:"items"`
}
