package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
)

// DRDrillSpec says which backup is restored where, and what is checked of it. It cannot be changed, apart from cancel.
//
// +kubebuilder:validation:XValidation:rule="!has(self.mode) || self.mode != 'Recover' || (has(self.confirm) && self.confirm == self.clusterRef.name)",message="mode: Recover restores for real: set spec.confirm to the name of the cluster that was lost"
// +kubebuilder:validation:XValidation:rule="!has(self.mode) || self.mode != 'Recover' || has(self.requestedBy)",message="mode: Recover restores for real: set spec.requestedBy to your name, which kubectl auth whoami tells"
// +kubebuilder:validation:XValidation:rule="!has(self.mode) || self.mode != 'Recover' || self.target.mode == 'Standby'",message="mode: Recover restores into another cluster, which stays: use target.mode: Standby"
// +kubebuilder:validation:XValidation:rule="!has(self.mode) || self.mode != 'Recover' || (!has(self.alsoRestore) && !has(self.target.quota))",message="mode: Recover restores everything, and without a quota: leave out alsoRestore and target.quota"
// +kubebuilder:validation:XValidation:rule="(has(self.mode) && self.mode == 'Recover') || (!has(self.confirm) && !has(self.requestedBy))",message="confirm and requestedBy belong to mode: Recover"
// +kubebuilder:validation:XValidation:rule="has(self.mode) == has(oldSelf.mode) && (!has(self.mode) || self.mode == oldSelf.mode) && has(self.confirm) == has(oldSelf.confirm) && (!has(self.confirm) || self.confirm == oldSelf.confirm) && has(self.requestedBy) == has(oldSelf.requestedBy) && (!has(self.requestedBy) || self.requestedBy == oldSelf.requestedBy)",message="a drill is one rehearsal: only spec.cancel can be changed; create another DRDrill"
// +kubebuilder:validation:XValidation:rule="!has(self.target.standbyName) || self.target.standbyName != self.clusterRef.name",message="target.standbyName is the cluster that was backed up: name another one, or use mode: NamespaceMapped"
// +kubebuilder:validation:XValidation:rule="self.policyName == oldSelf.policyName && self.clusterRef == oldSelf.clusterRef && self.backup == oldSelf.backup && self.namespaces == oldSelf.namespaces && self.target == oldSelf.target && has(self.alsoRestore) == has(oldSelf.alsoRestore) && (!has(self.alsoRestore) || self.alsoRestore == oldSelf.alsoRestore) && self.verify == oldSelf.verify && has(self.objectives) == has(oldSelf.objectives) && (!has(self.objectives) || self.objectives == oldSelf.objectives) && self.restoreTimeout == oldSelf.restoreTimeout && self.cleanup == oldSelf.cleanup && has(self.startBy) == has(oldSelf.startBy) && (!has(self.startBy) || self.startBy == oldSelf.startBy)",message="a drill is one rehearsal: only spec.cancel can be changed; create another DRDrill"
type DRDrillSpec struct {
	metav1alpha1.RunSpec `json:",inline"`

	// mode is Rehearse, which leaves nothing, or Recover, which restores for real. The default is Rehearse.
	// +optional
	// +default="Rehearse"
	Mode RecoveryMode `json:"mode,omitempty"`

	// confirm is the name of the cluster that was lost, once more, with mode: Recover.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Confirm string `json:"confirm,omitempty"`

	// requestedBy is the name by which the API server knows whoever creates a DRDrill with mode: Recover. Another one is
	// refused at admission.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	RequestedBy string `json:"requestedBy,omitempty"`

	// policyName is the BackupPolicy in this namespace whose backup is restored.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	PolicyName string `json:"policyName,omitempty"`

	// clusterRef is the TenantCluster that was backed up. It need not answer.
	// +required
	ClusterRef metav1alpha1.ClusterReference `json:"clusterRef,omitzero"`

	DrillScope `json:",inline"`
}

// RecoveryMode says whether a recovery is for real.
// +kubebuilder:validation:Enum=Rehearse;Recover
type RecoveryMode string

// Modes.
const (
	// ModeRehearse restores where it does no harm, and removes what it restored.
	ModeRehearse RecoveryMode = "Rehearse"
	// ModeRecover restores everything into another cluster, and leaves it there.
	ModeRecover RecoveryMode = "Recover"
)

// DrillScope is what is restored where, and what is checked of it.
type DrillScope struct {
	// backup says which of its backups is restored.
	// +optional
	// +default={}
	Backup BackupChoice `json:"backup,omitzero"` //nolint:kubeapilinter // A struct without required fields: omitzero is what omits it.

	// namespaces says which namespaces of the backup are restored.
	// +optional
	// +default={}
	Namespaces NamespaceChoice `json:"namespaces,omitzero"` //nolint:kubeapilinter // As above.

	// target is where they are restored.
	// +required
	Target DrillTarget `json:"target,omitzero"`

	// alsoRestore are the kinds of objects that are restored as they are, although they may act on what is outside of the
	// drill.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	AlsoRestore []DrillExposure `json:"alsoRestore,omitempty"`

	// verify says what is checked of what was restored. Completeness and digests always are.
	// +optional
	// +default={}
	Verify DrillVerification `json:"verify,omitzero"` //nolint:kubeapilinter // As above.

	// objectives are what the drill is measured against; those of the policy by default.
	// +optional
	Objectives RecoveryObjectives `json:"objectives,omitzero"`

	// restoreTimeout is how long Velero may take for the restore, from 1m to 24h. The default is 1h.
	// +optional
	// +default="1h"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m') && duration(self) <= duration('24h')",message="restoreTimeout is from 1m to 24h"
	RestoreTimeout *metav1.Duration `json:"restoreTimeout,omitempty"`

	// cleanup says for how long what was restored stays.
	// +optional
	// +default={}
	Cleanup DrillCleanup `json:"cleanup,omitzero"` //nolint:kubeapilinter // As above.
}

// BackupChoice says which backup is restored. Only those are looked at that have ended and are good ones by the policy.
//
// +kubebuilder:validation:XValidation:rule="has(self.name) == (has(self.select) && self.select == 'Named')",message="name belongs to select: Named"
type BackupChoice struct {
	// select is how one is chosen. The default is Latest.
	// +optional
	// +default="Latest"
	Select BackupSelection `json:"select,omitempty"`

	// within is how old a backup may be that is chosen at random, from 1h. The default is 168h.
	// +optional
	// +default="168h"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1h')",message="within is at least 1h"
	Within *metav1.Duration `json:"within,omitempty"`

	// name of the Backup, with select: Named.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}

// BackupSelection is how a backup is chosen.
// +kubebuilder:validation:Enum=Latest;OldestUsable;Random;Named
type BackupSelection string

// How a backup is chosen.
const (
	// BackupLatest is the last good one.
	BackupLatest BackupSelection = "Latest"
	// BackupOldestUsable is the oldest good one that has not expired.
	BackupOldestUsable BackupSelection = "OldestUsable"
	// BackupRandom is any good one of the time within.
	BackupRandom BackupSelection = "Random"
	// BackupNamed is the one of that name.
	BackupNamed BackupSelection = "Named"
)

// NamespaceChoice says which namespaces are restored.
type NamespaceChoice struct {
	// include are namespaces that the backup has; all by default. With mode: Recover, objects without a namespace are restored
	// if it is empty, and kube-system, kube-public and kube-node-lease only if they are named.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	Include []string `json:"include,omitempty"`

	// sample is how many of them a rehearsal restores, chosen at random, from 1 to 16. A recovery restores all.
	// The default is 16.
	// +optional
	// +default=16
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16
	Sample *int32 `json:"sample,omitempty"`
}

// DrillTarget is where a backup is restored.
//
// +kubebuilder:validation:XValidation:rule="has(self.standbyName) == (self.mode == 'Standby')",message="standbyName belongs to mode: Standby"
// +kubebuilder:validation:XValidation:rule="!has(self.ephemeral) || self.mode == 'Ephemeral'",message="ephemeral belongs to mode: Ephemeral"
type DrillTarget struct {
	// mode is the kind of place.
	// +required
	Mode DrillMode `json:"mode,omitempty"`

	// standbyName is another TenantCluster in the namespace of the one that was backed up, with mode: Standby.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	StandbyName string `json:"standbyName,omitempty"`

	// ephemeral is the cluster that is ordered, with mode: Ephemeral.
	// +optional
	Ephemeral *EphemeralCluster `json:"ephemeral,omitempty"`

	// quota of each namespace that is restored. Without it, a namespace has at most 500 pods, and no load balancers.
	// +optional
	Quota corev1.ResourceList `json:"quota,omitempty"`
}

// EphemeralCluster is a TenantCluster that is ordered for one drill, in its namespace, and deleted at its end. It has the
// labels of the cluster that was backed up.
type EphemeralCluster struct {
	// topology of the cluster; by default that of the cluster that was backed up, if Daytwo ordered that one.
	// +optional
	Topology *tenancyv1alpha1.ClusterTopology `json:"topology,omitempty"`

	// addons are the names of the SaaSAddons that may select the cluster. No other policy does.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	Addons []string `json:"addons,omitempty"`

	// maxLifetime is how long after its order the cluster is deleted at the latest, from 30m to 72h, whatever the drill has
	// found by then. The default is 6h.
	// +optional
	// +default="6h"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('30m') && duration(self) <= duration('72h')",message="maxLifetime is from 30m to 72h"
	MaxLifetime *metav1.Duration `json:"maxLifetime,omitempty"`
}

// DrillMode is where a drill restores to.
// +kubebuilder:validation:Enum=NamespaceMapped;Standby;Ephemeral
type DrillMode string

// Where a drill restores to.
const (
	// DrillNamespaceMapped restores into namespaces of other names, in the cluster that was backed up.
	DrillNamespaceMapped DrillMode = "NamespaceMapped"
	// DrillStandby restores into the namespaces of the same names in another cluster, which must not have them.
	DrillStandby DrillMode = "Standby"
	// DrillEphemeral restores into a cluster that is ordered for the drill. Objects without a namespace are restored too.
	DrillEphemeral DrillMode = "Ephemeral"
)

// DrillExposure is a kind of objects that may act on what is outside of a drill.
// +kubebuilder:validation:Enum=Ingresses;LoadBalancers;CronJobs;NetworkPolicies;DNS;Certificates;GitOps;Infrastructure
type DrillExposure string

// What a drill leaves out, or changes, unless it is asked for.
const (
	// ExposeIngresses: Ingresses, and Gateways and their routes, are left out.
	ExposeIngresses DrillExposure = "Ingresses"
	// ExposeLoadBalancers: Services of the types LoadBalancer and NodePort become ClusterIP.
	ExposeLoadBalancers DrillExposure = "LoadBalancers"
	// ExposeCronJobs: CronJobs are suspended.
	ExposeCronJobs DrillExposure = "CronJobs"
	// ExposeNetworkPolicies are left out: they would permit what the drill's own one denies.
	ExposeNetworkPolicies DrillExposure = "NetworkPolicies"
	// ExposeDNS: what external-dns publishes is left out.
	ExposeDNS DrillExposure = "DNS"
	// ExposeCertificates: what makes cert-manager ask for certificates is left out.
	ExposeCertificates DrillExposure = "Certificates"
	// ExposeGitOps: objects of Flux and Argo CD are left out.
	ExposeGitOps DrillExposure = "GitOps"
	// ExposeInfrastructure: PersistentVolumes, and objects of Crossplane and Cluster API, are left out.
	ExposeInfrastructure DrillExposure = "Infrastructure"
)

// DrillVerification says what is checked.
type DrillVerification struct {
	// readinessTimeout is how long workloads may take until they are ready, from 10s to 24h. The default is 10m.
	// +optional
	// +default="10m"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('10s') && duration(self) <= duration('24h')",message="readinessTimeout is from 10s to 24h"
	ReadinessTimeout *metav1.Duration `json:"readinessTimeout,omitempty"`

	// assertions have to be true of what was restored, once workloads are ready.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Assertions []DrillAssertion `json:"assertions,omitempty"`

	// jobs have to succeed beside what was restored, once workloads are ready and assertions hold. They run one after the other.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	Jobs []DrillJob `json:"jobs,omitempty"`
}

// DrillAssertion is an expression about the restored objects of one kind.
type DrillAssertion struct {
	// name of the assertion, which its check has too.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`

	// apiVersion of the objects, as in "apps/v1".
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	APIVersion string `json:"apiVersion,omitempty"`

	// kind of the objects.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind,omitempty"`

	// namespace of the objects, as it is called in the backup; all that are restored by default.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`

	// expression in CEL that is a bool over the list objects, as in "objects.size() == 3". Values of Secrets are empty.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	Expression string `json:"expression,omitempty"`
}

// DrillJob is a program that looks into what was restored. In the sandbox of a rehearsal it alone reaches the pods of its
// namespace, and the name server of the cluster.
type DrillJob struct {
	// name of the job, which its check has too.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`

	// namespace in which it runs, as it is called in the backup. It has to be restored.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`

	// image of its container.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Image string `json:"image,omitempty"`

	// command of its container; that of the image by default.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=4096
	Command []string `json:"command,omitempty"`

	// serviceAccountName is a restored ServiceAccount that it runs as; "default" by default.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// timeout after which it is ended, and has failed, from 10s to 24h. It is tried once. The default is 10m.
	// +optional
	// +default="10m"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('10s') && duration(self) <= duration('24h')",message="timeout is from 10s to 24h"
	Timeout *metav1.Duration `json:"timeout,omitempty"`
}

// DrillCleanup says for how long what was restored stays.
type DrillCleanup struct {
	// keepFailedFor is for how long what was restored stays after a drill that did not pass, for people to look at; at most 168h.
	// The default is 0s.
	// +optional
	// +default="0s"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s') && duration(self) <= duration('168h')",message="keepFailedFor is from 0s to 168h"
	KeepFailedFor *metav1.Duration `json:"keepFailedFor,omitempty"`
}

// DRDrillStatus is what became of it.
type DRDrillStatus struct {
	metav1alpha1.RunStatus `json:",inline"`

	// verdict is what the drill proves; absent while it is under way.
	// +optional
	Verdict DrillVerdict `json:"verdict,omitempty"`

	// source is the backup that is restored.
	// +optional
	Source *DrillSource `json:"source,omitempty"`

	// namespaces that are restored: at most 16 in a rehearsal.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=256
	Namespaces []DrillNamespace `json:"namespaces,omitempty"`

	// leftOut are resources of the backup that are not restored, as in "ingresses.networking.k8s.io".
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=253
	LeftOut []string `json:"leftOut,omitempty"`

	// checks and what came of them.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=48
	Checks []DrillCheck `json:"checks,omitempty"`

	// objectives that the drill is measured against.
	// +optional
	Objectives RecoveryObjectives `json:"objectives,omitzero"`

	// dataAge is how old the data of the backup was when the drill started: the recovery point.
	// +optional
	// +kubebuilder:validation:Format=duration
	DataAge *metav1.Duration `json:"dataAge,omitempty"`

	// restoreTime is how long Velero took for the restore.
	// +optional
	// +kubebuilder:validation:Format=duration
	RestoreTime *metav1.Duration `json:"restoreTime,omitempty"`

	// recoveryTime is how long it took from the start of the drill until everything was checked: the recovery time.
	// +optional
	// +kubebuilder:validation:Format=duration
	RecoveryTime *metav1.Duration `json:"recoveryTime,omitempty"`

	// evidence is what the drill proves, in a form to be kept; absent for one that was cancelled.
	// +optional
	Evidence *DrillEvidence `json:"evidence,omitempty"`
}

// DrillEvidence is a document with what a drill proves.
type DrillEvidence struct {
	// configMapName is the name of the immutable ConfigMap in this namespace with the document, in its key evidence.json. It
	// stays when the DRDrill is deleted.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ConfigMapName string `json:"configMapName,omitempty"`

	// hash is the SHA-256 of the document, in hex.
	// +required
	// +kubebuilder:validation:MinLength=64
	// +kubebuilder:validation:MaxLength=64
	Hash string `json:"hash,omitempty"`

	// previous is the hash of the document before it, of the same policy and cluster; empty for the first.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Previous string `json:"previous,omitempty"`

	// copy is where the document is kept in a bucket; absent if the policy has none for it.
	// +optional
	Copy *EvidenceCopy `json:"copy,omitempty"`
}

// EvidenceCopy is a document in a bucket, with its signature beside it in an object with the suffix .sig.
type EvidenceCopy struct {
	// bucket of the policy's spec.evidence.
	// +required
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=63
	Bucket string `json:"bucket,omitempty"`

	// key of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Key string `json:"key,omitempty"`

	// writtenAt is when it was written; absent while it was not.
	// +optional
	WrittenAt *metav1.Time `json:"writtenAt,omitempty"`
}

// DrillSource is the backup that a drill restores, and where it is from.
type DrillSource struct {
	// backup is the name of the Backup.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Backup string `json:"backup,omitempty"`

	// takenAt is when it began; its data is not younger.
	// +required
	TakenAt metav1.Time `json:"takenAt,omitzero"`

	// items are how many objects it has, as Velero tells.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Items int64 `json:"items,omitempty"`

	// revision of the policy that tells where it is.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Revision string `json:"revision,omitempty"`

	// prefix of the cluster's backups in the bucket.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Prefix string `json:"prefix,omitempty"`

	// location is the name of the BackupStorageLocation in the cluster that was backed up.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Location string `json:"location,omitempty"`

	// veleroNamespace is where Velero is in the clusters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	VeleroNamespace string `json:"veleroNamespace,omitempty"`

	// repositoryPassword is where the password is with which Velero encrypted the data of volumes; absent if the policy names
	// none.
	// +optional
	RepositoryPassword *metav1alpha1.SecretKeyReference `json:"repositoryPassword,omitempty"`
}

// DrillNamespace is a namespace that is restored.
type DrillNamespace struct {
	// name that it has in the backup.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`

	// restoredAs is the name that it has in the cluster into which it is restored.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	RestoredAs string `json:"restoredAs,omitempty"`
}

// DrillCheck is one check and what came of it.
type DrillCheck struct {
	// name of the check.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`

	// result of it.
	// +required
	Result CheckResult `json:"result,omitempty"`

	// message says what was checked, and what is wrong.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	Message string `json:"message,omitempty"`
}

// CheckResult is what came of a check.
// +kubebuilder:validation:Enum=Passed;Failed;NotChecked
type CheckResult string

// Results of checks.
const (
	// CheckPassed: it was checked, and is as it should be.
	CheckPassed CheckResult = "Passed"
	// CheckFailed: it was checked, and is not.
	CheckFailed CheckResult = "Failed"
	// CheckNotChecked: it could not be checked.
	CheckNotChecked CheckResult = "NotChecked"
)

// Names of the checks that every drill has.
const (
	// CheckBackup: there is a good backup, and its archive can be read.
	CheckBackup = "Backup"
	// CheckRestore: Velero restored without an error.
	CheckRestore = "Restore"
	// CheckCompleteness: every object of the backup that was to be restored is there.
	CheckCompleteness = "Completeness"
	// CheckDigests: what was restored has the content that it has in the backup.
	CheckDigests = "Digests"
	// CheckReadiness: workloads became ready in time.
	CheckReadiness = "Readiness"
	// CheckVolumes: volumes have the content that they had.
	CheckVolumes = "Volumes"
	// CheckRPO: the data is not older than the objective.
	CheckRPO = "RPO"
	// CheckRTO: the recovery did not take longer than the objective.
	CheckRTO = "RTO"

	// CheckAssertionPrefix and CheckJobPrefix come before the names of assertions and jobs.
	CheckAssertionPrefix = "Assertion/"
	CheckJobPrefix       = "Job/"
)

// DrillVerdict is what a drill proves.
// +kubebuilder:validation:Enum=Passed;Failed;Inconclusive;Cancelled;Skipped
type DrillVerdict string

// Verdicts.
const (
	// DrillPassed: everything was checked, and is as it should be.
	DrillPassed DrillVerdict = "Passed"
	// DrillFailed: at least one check failed.
	DrillFailed DrillVerdict = "Failed"
	// DrillInconclusive: no check failed, and not everything could be checked.
	DrillInconclusive DrillVerdict = "Inconclusive"
	// DrillCancelled: it was ended before its time.
	DrillCancelled DrillVerdict = "Cancelled"
	// DrillSkipped: it did not start before spec.startBy, and did nothing.
	DrillSkipped DrillVerdict = "Skipped"
)

// DRDrill is one rehearsal of a recovery: a backup is restored where it does no harm, compared with what is in its archive,
// measured, and removed again. With spec.mode: Recover it is the recovery.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="metadata.name must be at most 63 characters: it is used as a label value"
// +kubebuilder:resource:shortName=drill,categories=daytwo
// +kubebuilder:printcolumn:name="CLUSTER",type=string,JSONPath=`.spec.clusterRef.name`
// +kubebuilder:printcolumn:name="MODE",type=string,priority=1,JSONPath=`.spec.mode`
// +kubebuilder:printcolumn:name="BACKUP",type=string,priority=1,JSONPath=`.status.source.backup`
// +kubebuilder:printcolumn:name="VERDICT",type=string,JSONPath=`.status.verdict`
// +kubebuilder:printcolumn:name="RPO",type=string,JSONPath=`.status.dataAge`
// +kubebuilder:printcolumn:name="RTO",type=string,JSONPath=`.status.recoveryTime`
// +kubebuilder:printcolumn:name="READY",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="STATUS",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
type DRDrill struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec says what is rehearsed.
	// +required
	Spec DRDrillSpec `json:"spec,omitzero"`

	// status is what became of it.
	// +optional
	Status DRDrillStatus `json:"status,omitzero"`
}

// DRDrillList is a list of DRDrills.
//
// +kubebuilder:object:root=true
type DRDrillList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []DRDrill `json:"items"`
}
