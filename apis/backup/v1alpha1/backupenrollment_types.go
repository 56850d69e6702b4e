package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// Condition types of a BackupEnrollment, beside the common ones.
const (
	// ConditionStorageAvailable: Velero can list the cluster's prefix in the bucket.
	ConditionStorageAvailable = "StorageAvailable"
	// ConditionStorageProtected: who has the credentials of the cluster cannot delete its backups for good.
	ConditionStorageProtected = "StorageProtected"
	// ConditionCredentialsRenewed: the temporary credentials of the cluster are renewed in time.
	ConditionCredentialsRenewed = "CredentialsRenewed"
	// ConditionBackupsHealthy: the last backup that ended is a good one.
	ConditionBackupsHealthy = "BackupsHealthy"
	// ConditionRecoveryProven: the last drill that came to a result has passed, and is not older than
	// spec.objectives.maxDrillAge.
	ConditionRecoveryProven = "RecoveryProven"
	// ConditionRTOMet: that drill took no longer than spec.objectives.rto.
	ConditionRTOMet = "RTOMet"
	// ConditionRPOMet: the last good backup is not older than spec.objectives.rpo.
	ConditionRPOMet = "RPOMet"
	// ConditionBackupsExpire: Velero deletes the backups whose time is over.
	ConditionBackupsExpire = "BackupsExpire"
	// ConditionCoverageComplete: the policies of the cluster back up all of its namespaces, and the last backup has the data of
	// all volumes that it came across.
	ConditionCoverageComplete = "CoverageComplete"
	// ConditionInBlackout: a blackout is open, and Velero starts no backup by schedule.
	ConditionInBlackout = "InBlackout"
)

// Reasons of a BackupEnrollment's conditions, beside the common ones.
const (
	// ReasonVeleroUnavailable: the cluster has no Velero, an old one, or one that does not answer; the message says which.
	ReasonVeleroUnavailable = "VeleroUnavailable"
	// ReasonStorageUnavailable: Velero cannot use the storage; the message is Velero's.
	ReasonStorageUnavailable = "StorageUnavailable"
	// ReasonStorageNotWritable: the storage refused to have an object written, read or deleted; the message says which.
	ReasonStorageNotWritable = "StorageNotWritable"
	// ReasonHistoryErasable: the bucket keeps versions, and the credentials of the cluster can delete them.
	ReasonHistoryErasable = "HistoryErasable"
	// ReasonHistoryNotKept: the bucket keeps no versions.
	ReasonHistoryNotKept = "HistoryNotKept"
	// ReasonRepositoryPasswordMissing: data of volumes is in a repository of Velero's, and the policy names no password for it.
	ReasonRepositoryPasswordMissing = "RepositoryPasswordMissing"
	// ReasonStorageNotChecked: Velero has not looked at the storage yet.
	ReasonStorageNotChecked = "StorageNotChecked"
	// ReasonCredentialsNotRenewed: no temporary credentials can be had; the message says why, and until when the old ones are good.
	ReasonCredentialsNotRenewed = "CredentialsNotRenewed"
	// ReasonCredentialsInvalid: the Secret with the credentials is missing, or lacks a key.
	ReasonCredentialsInvalid = "CredentialsInvalid"
	// ReasonRepositoryPasswordInvalid: the Secret with the password of Velero's repositories is missing, or its password is
	// none that protects.
	ReasonRepositoryPasswordInvalid = "RepositoryPasswordInvalid"
	// ReasonRepositoryPasswordConflict: Velero has another password in the cluster, of another owner, or with repositories.
	ReasonRepositoryPasswordConflict = "RepositoryPasswordConflict"
	// ReasonHooksNotAllowed: the revision has hooks, and the manager runs without --allow-backup-hooks.
	ReasonHooksNotAllowed = "HooksNotAllowed"
	// ReasonScheduleInvalid: the expression cannot be read, or not be shifted.
	ReasonScheduleInvalid = "ScheduleInvalid"
	// ReasonBackupFailed: the last backup is not a good one; the message names it and says why.
	ReasonBackupFailed = "BackupFailed"
	// ReasonBackupsSucceed: the last backup is a good one.
	ReasonBackupsSucceed = "BackupsSucceed"
	// ReasonTooManyBackups: the cluster has more backups of the policy than Daytwo watches, so that the last one may not be
	// among those that it knows.
	ReasonTooManyBackups = "TooManyBackups"
	// ReasonBackupsNotSeen: the cluster does not show its backups at present, and those that are known are too old.
	ReasonBackupsNotSeen = "BackupsNotSeen"
	// ReasonDetailsUnknown: what the bucket tells of the last backup is not read yet, or cannot be; the message says why.
	ReasonDetailsUnknown = "DetailsUnknown"
	// ReasonCovered: nothing is left out.
	ReasonCovered = "Covered"
	// ReasonNotCovered: something is left out; the message names it.
	ReasonNotCovered = "NotCovered"
	// ReasonCoverageUnknown: what the cluster has, or what is backed up, is not known; the message says why.
	ReasonCoverageUnknown = "CoverageUnknown"
	// ReasonNoBackup: none has ended yet.
	ReasonNoBackup = "NoBackup"
	// ReasonRPOMissed: the last good backup is older than it may be, or there is none.
	ReasonRPOMissed = "RPOMissed"
	// ReasonDrillPassed: the last drill restored a backup, and everything was as in the archive.
	ReasonDrillPassed = "DrillPassed"
	// ReasonDrillFailed: the last drill failed; the message says why.
	ReasonDrillFailed = "DrillFailed"
	// ReasonDrillOverdue: the last drill is too long ago, or there was none.
	ReasonDrillOverdue = "DrillOverdue"
	// ReasonNoDrill: none came to a result yet.
	ReasonNoDrill = "NoDrill"
	// ReasonRTOMissed: the last drill took longer than a recovery may take.
	ReasonRTOMissed = "RTOMissed"
	// ReasonDeletionFailed: Velero could not delete a backup; the message names it and says why.
	ReasonDeletionFailed = "DeletionFailed"
	// ReasonBlackoutOpen: Velero's Schedule is paused.
	ReasonBlackoutOpen = "BlackoutOpen"
	// ReasonNoBlackout: none is open.
	ReasonNoBlackout = "NoBlackout"
	// ReasonBlackoutNotSet: one is open, and Velero's Schedule is not known to be paused; the message says why.
	ReasonBlackoutNotSet = "BlackoutNotSet"
	// ReasonBlackoutNotLifted: one has ended, and Velero's Schedule is still paused, as far as is known; the message says why.
	ReasonBlackoutNotLifted = "BlackoutNotLifted"
	// ReasonNoObjective: the policy has no such objective.
	ReasonNoObjective = "NoObjective"
)

// BackupEnrollmentSpec is one policy in one cluster.
type BackupEnrollmentSpec struct {
	metav1alpha1.TargetSpec `json:",inline"`

	// credentialsSecret is the name of the Secret in this namespace with the credentials for the cluster.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	CredentialsSecret string `json:"credentialsSecret,omitempty"`

	// repositoryPassword is the key of a Secret in this namespace with the password of Velero's repositories in the cluster;
	// absent where Velero keeps its own.
	// +optional
	RepositoryPassword *metav1alpha1.SecretKeyReference `json:"repositoryPassword,omitempty"`

	// assumeRole is the policy's, with which Daytwo mints what is in that Secret.
	// +optional
	AssumeRole *AssumeRole `json:"assumeRole,omitempty"`

	// drillCredentialsSecret is the name of the Secret in this namespace with the credentials for drills; empty for the same.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	DrillCredentialsSecret string `json:"drillCredentialsSecret,omitempty"`

	// objectives are the policy's.
	// +optional
	Objectives PolicyObjectives `json:"objectives,omitzero"`

	// drills are the policy's.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	Drills []DrillPlan `json:"drills,omitempty"`

	// evidence is the policy's.
	// +optional
	Evidence *EvidenceStorage `json:"evidence,omitempty"`

	// schedule holds the policy's rules about starts. When they are is in the revision.
	// +optional
	Schedule StartRules `json:"schedule,omitzero"` //nolint:kubeapilinter // A struct without required fields: omitzero is what omits it.

	// acceptPartiallyFailed is the policy's.
	// +optional
	AcceptPartiallyFailed bool `json:"acceptPartiallyFailed,omitempty"`

	// minItems is the policy's.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MinItems *int32 `json:"minItems,omitempty"`

	// requireVolumes is the policy's.
	// +optional
	RequireVolumes bool `json:"requireVolumes,omitempty"`

	// backupDeletionPolicy is the policy's spec.retention.deletionPolicy.
	// +optional
	BackupDeletionPolicy BackupDeletionPolicy `json:"backupDeletionPolicy,omitempty"`

	// backupNow is the policy's annotation daytwo.dev/backup-now.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	BackupNow string `json:"backupNow,omitempty"`

	// drift is the policy's.
	// +optional
	Drift metav1alpha1.DriftPolicy `json:"drift,omitzero"` //nolint:kubeapilinter // A struct of another package: omitzero is what omits it.
}

// BackupEnrollmentStatus is what became of it.
type BackupEnrollmentStatus struct {
	metav1alpha1.TargetStatus  `json:",inline"`
	metav1alpha1.ObjectsStatus `json:",inline"`

	// velero tells what Daytwo made for Velero in the cluster.
	// +optional
	Velero *VeleroObjects `json:"velero,omitempty"`

	// requested is the backup that was asked for last.
	// +optional
	Requested *RequestedBackup `json:"requested,omitempty"`

	// caughtUp is the backup that was made last in the place of one that failed or was missed.
	// +optional
	CaughtUp *CaughtUpBackup `json:"caughtUp,omitempty"`

	// next is when the next backup starts.
	// +optional
	Next *metav1.Time `json:"next,omitempty"`

	// lastSuccessful is the last good backup. The age of its start is the age of the data that a recovery would bring back.
	// +optional
	LastSuccessful *BackupRun `json:"lastSuccessful,omitempty"`

	// lastDrill is the last drill that came to a result. It stays when people delete the DRDrill.
	// +optional
	LastDrill *DrillResult `json:"lastDrill,omitempty"`

	// drillPlans tell how far the plans for drills are.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	DrillPlans []DrillPlanStatus `json:"drillPlans,omitempty"`

	// evidence is the end of the chain of what drills proved.
	// +optional
	Evidence *EvidenceChain `json:"evidence,omitempty"`

	// server is what Velero says of itself.
	// +optional
	Server *VeleroServer `json:"server,omitempty"`

	// storage is what the last probe showed.
	// +optional
	Storage *StorageCheck `json:"storage,omitempty"`

	// deletions tell of backups that are being deleted, because their time is over or because the enrollment ends; absent if
	// there are none.
	// +optional
	Deletions *BackupDeletions `json:"deletions,omitempty"`

	// extendedAt is when it was last put off that Velero deletes backups that are to stay; absent if it never had to be.
	// +optional
	ExtendedAt *metav1.Time `json:"extendedAt,omitempty"`

	// runs are the last ten backups, the latest first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	Runs []BackupRun `json:"runs,omitempty"`
}

// VeleroServer is what Velero in the cluster said of itself when it was asked last, which is once a day.
type VeleroServer struct {
	// checkedAt is when it answered.
	// +required
	CheckedAt metav1.Time `json:"checkedAt,omitzero"`

	// version of it, as in "v1.18.3"; absent if it says none that can be read.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Version string `json:"version,omitempty"`
}

// RequestedBackup is a backup that somebody asked for with the annotation daytwo.dev/backup-now.
type RequestedBackup struct {
	// policy is the value of the annotation on the BackupPolicy then.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Policy string `json:"policy,omitempty"`

	// enrollment is that on the BackupEnrollment.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Enrollment string `json:"enrollment,omitempty"`

	// cluster is that on the TenantCluster.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Cluster string `json:"cluster,omitempty"`

	// action makes the Backup, and ends with it.
	// +required
	Action metav1alpha1.Action `json:"action,omitzero"`
}

// CatchUpReason is why a backup is caught up.
type CatchUpReason string

// Reasons of a CaughtUpBackup.
const (
	// CatchUpFailed: the backups since the start failed.
	CatchUpFailed CatchUpReason = "Failed"
	// CatchUpMissed: there is no backup since the start, and Velero is not going to make one.
	CatchUpMissed CatchUpReason = "Missed"
)

// CaughtUpBackup is a backup that Daytwo makes in the place of one that was to start by schedule.
type CaughtUpBackup struct {
	// scheduledAt is the start.
	// +required
	ScheduledAt metav1.Time `json:"scheduledAt,omitzero"`

	// reason is Failed or Missed.
	// +required
	// +kubebuilder:validation:Enum=Failed;Missed
	Reason CatchUpReason `json:"reason,omitempty"`

	// message says more about it.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`

	// action makes the Backup, and ends with it.
	// +required
	Action metav1alpha1.Action `json:"action,omitzero"`
}

// VeleroObjects are what Velero is to work with in a cluster.
type VeleroObjects struct {
	// name of the BackupStorageLocation, the Secret, the Schedule, and the ConfigMap with resource policies if there is one.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`

	// namespace of Velero.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`

	// prefix of the cluster's backups in the bucket. It belongs to the identity of the cluster, and never changes.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Prefix string `json:"prefix,omitempty"`

	// cron is the expression that Velero has, in UTC and with the offset of this cluster.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Cron string `json:"cron,omitempty"`

	// until is when the clock of the policy's time zone is set, and another expression holds; absent if it never is.
	// +optional
	Until *metav1.Time `json:"until,omitempty"`

	// ttl is how long after their start the backups here expire. It is that of the revision, and not of Velero's Schedule,
	// which has a longer one.
	// +optional
	// +kubebuilder:validation:Format=duration
	TTL *metav1.Duration `json:"ttl,omitempty"`

	// keepLast is how many good backups here stay beyond that, by the revision.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	KeepLast int32 `json:"keepLast,omitempty"`

	// validationFrequency is how often Velero looks whether the storage can be used: seldom while it can, and often while it
	// cannot.
	// +optional
	// +kubebuilder:validation:Format=duration
	ValidationFrequency *metav1.Duration `json:"validationFrequency,omitempty"`

	// startsSince is since when backups start by the policy's expression. Starts before that are not caught up.
	// +optional
	StartsSince *metav1.Time `json:"startsSince,omitempty"`

	// paused is whether Velero starts no backup by schedule, because of a blackout.
	// +optional
	Paused bool `json:"paused,omitempty"`

	// skippedUntil is up to when starts fell into a blackout: Velero does not make up for them.
	// +optional
	SkippedUntil *metav1.Time `json:"skippedUntil,omitempty"`

	// credentialsVersion is the version of the Secret that the credentials are from.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	CredentialsVersion string `json:"credentialsVersion,omitempty"`

	// repositoryPasswordVersion is the version of the Secret that the password of Velero's repositories is from.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	RepositoryPasswordVersion string `json:"repositoryPasswordVersion,omitempty"`
}

// StorageCheck is what a probe of the storage showed: an object was written, read and deleted with the credentials that the
// cluster has.
type StorageCheck struct {
	// checkedAt is when it was made.
	// +required
	CheckedAt metav1.Time `json:"checkedAt,omitzero"`

	// credentialsVersion is the version of the Secret that the credentials were from.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	CredentialsVersion string `json:"credentialsVersion,omitempty"`

	// result is Writable, Refused or NotReached. NotReached says nothing of the storage: the cluster may reach it.
	// +required
	// +kubebuilder:validation:Enum=Writable;Refused;NotReached
	Result StorageResult `json:"result,omitempty"`

	// message says what was refused, or why the storage was not reached.
	// +optional
	// +kubebuilder:validation:MaxLength=768
	Message string `json:"message,omitempty"`

	// history is what becomes of an object that is deleted: Kept if the bucket keeps versions and the credentials cannot delete
	// them, Erasable if they can, NotKept if the bucket keeps none; empty if that is not known.
	// +optional
	// +kubebuilder:validation:Enum=Kept;Erasable;NotKept
	History StorageHistory `json:"history,omitempty"`

	// failures is how many probes in a row found something wrong, up to 7.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Failures int32 `json:"failures,omitempty"`
}

// StorageResult is what came of a probe.
type StorageResult string

// Results of a probe.
const (
	// StorageWritable: an object was written, read and deleted.
	StorageWritable StorageResult = "Writable"
	// StorageRefuses: the storage refused one of that.
	StorageRefuses StorageResult = "Refused"
	// StorageNotReached: the manager got no answer.
	StorageNotReached StorageResult = "NotReached"
)

// StorageHistory is what becomes of an object that is deleted.
type StorageHistory string

// Histories.
const (
	// HistoryKept: a version stays, which the credentials cannot delete.
	HistoryKept StorageHistory = "Kept"
	// HistoryErasable: a version stays, which the credentials can delete.
	HistoryErasable StorageHistory = "Erasable"
	// HistoryNotKept: nothing stays.
	HistoryNotKept StorageHistory = "NotKept"
)

// BackupDeletions are the backups that are to be deleted, and are there still.
type BackupDeletions struct {
	// remaining is how many there are.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Remaining int32 `json:"remaining,omitempty"`

	// failed is how many of them Velero could not delete. It is asked again, after longer and longer times.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Failed int32 `json:"failed,omitempty"`

	// message names one of these, and says why.
	// +optional
	// +kubebuilder:validation:MaxLength=768
	Message string `json:"message,omitempty"`

	// completedAt is when all backups of an enrollment that ends were gone from the storage, and what Velero needed for that
	// began to go.
	// +optional
	CompletedAt *metav1.Time `json:"completedAt,omitempty"`
}

// EvidenceChain is a chain of documents, each of which holds the hash of the one before it.
type EvidenceChain struct {
	// head is the hash of the newest document: what daytwo evidence verify --head asks for.
	// +required
	// +kubebuilder:validation:MinLength=64
	// +kubebuilder:validation:MaxLength=64
	Head string `json:"head,omitempty"`

	// configMapName is the name of the ConfigMap in this namespace with it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ConfigMapName string `json:"configMapName,omitempty"`
}

// DrillResult is what a drill came to.
type DrillResult struct {
	// name of the DRDrill in this namespace.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// verdict of the drill, Passed or Failed.
	// +required
	Verdict DrillVerdict `json:"verdict,omitempty"`

	// endedAt is when it was found.
	// +required
	EndedAt metav1.Time `json:"endedAt,omitzero"`

	// backup that was restored; absent if there was none to restore.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Backup string `json:"backup,omitempty"`

	// dataAge is how old the data of the backup was when the drill started.
	// +optional
	// +kubebuilder:validation:Format=duration
	DataAge *metav1.Duration `json:"dataAge,omitempty"`

	// recoveryTime is how long it took until everything was checked.
	// +optional
	// +kubebuilder:validation:Format=duration
	RecoveryTime *metav1.Duration `json:"recoveryTime,omitempty"`

	// message says what was found.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
}

// BackupRun is one backup, as Velero tells of it.
type BackupRun struct {
	// name of the Backup in Velero's namespace.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// phase is Velero's.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Phase string `json:"phase,omitempty"`

	// startedAt is when it began; its data is not younger.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`

	// endedAt is when it ended, however.
	// +optional
	EndedAt *metav1.Time `json:"endedAt,omitempty"`

	// expiresAt is when it is deleted: its start and the policy's ttl, or when Velero deletes it by itself if that is earlier.
	// For one that is kept, it is the latter.
	// +optional
	ExpiresAt *metav1.Time `json:"expiresAt,omitempty"`

	// kept is whether it is one of the last good backups, which stay beyond the policy's ttl, until enough later ones are there.
	// +optional
	Kept bool `json:"kept,omitempty"`

	// items are how many objects it has.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Items int64 `json:"items,omitempty"`

	// errors that its log has.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Errors int64 `json:"errors,omitempty"`

	// warnings that its log has.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Warnings int64 `json:"warnings,omitempty"`

	// problem is why it is not a good one; empty for a good one, and for one that has not ended.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Problem string `json:"problem,omitempty"`

	// detailsRead is whether bytes, problems and volumes were read from the bucket. While they were not, they are absent, and
	// not known.
	// +optional
	DetailsRead bool `json:"detailsRead,omitempty"`

	// detailsProblem is why they could not be read; empty while nobody tried, and once they are read.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	DetailsProblem string `json:"detailsProblem,omitempty"`

	// bytes is how large its objects in the bucket are together. The data of its volumes is elsewhere.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Bytes *int64 `json:"bytes,omitempty"`

	// problems are the first errors that Velero met, and then warnings: the namespace, or else "cluster" or "velero", and
	// Velero's words.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=5
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=320
	Problems []string `json:"problems,omitempty"`

	// volumes are those that it came across; absent where Velero wrote nothing about them.
	// +optional
	Volumes *BackupVolumes `json:"volumes,omitempty"`
}

// BackupVolumes are the volumes that a backup came across.
type BackupVolumes struct {
	// total is how many there are.
	// +required
	// +kubebuilder:validation:Minimum=0
	Total *int32 `json:"total,omitempty"`

	// covered is of how many the backup has the data.
	// +required
	// +kubebuilder:validation:Minimum=0
	Covered *int32 `json:"covered,omitempty"`

	// inRepository is of how many of these Velero has the data in a repository that is encrypted with its password.
	// +optional
	// +kubebuilder:validation:Minimum=0
	InRepository int32 `json:"inRepository,omitempty"`

	// uncovered are the first of the others.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=5
	Uncovered []UncoveredVolume `json:"uncovered,omitempty"`
}

// UncoveredVolume is a volume that a backup has no data of.
type UncoveredVolume struct {
	// name is namespace and name of the PersistentVolumeClaim, as in "shop/data", or else the name of the PersistentVolume.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=320
	Name string `json:"name,omitempty"`

	// reason is why.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Reason string `json:"reason,omitempty"`
}

// BackupEnrollment is one BackupPolicy in one workload cluster. Daytwo writes it; people read it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=be,categories=daytwo-targets
// +kubebuilder:printcolumn:name="CLUSTER",type=string,JSONPath=`.spec.clusterRef.name`
// +kubebuilder:printcolumn:name="DATA AGE",type=date,JSONPath=`.status.lastSuccessful.startedAt`
// +kubebuilder:printcolumn:name="ITEMS",type=integer,JSONPath=`.status.lastSuccessful.items`
// +kubebuilder:printcolumn:name="BYTES",type=integer,priority=1,JSONPath=`.status.lastSuccessful.bytes`
// +kubebuilder:printcolumn:name="NEXT",type=string,priority=1,JSONPath=`.status.next`
// +kubebuilder:printcolumn:name="RPO",type=string,JSONPath=`.status.conditions[?(@.type=="RPOMet")].status`
// +kubebuilder:printcolumn:name="PROVEN",type=string,JSONPath=`.status.conditions[?(@.type=="RecoveryProven")].status`
// +kubebuilder:printcolumn:name="DRIFT",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Drifted")].status`
// +kubebuilder:printcolumn:name="CORRECTIONS",type=integer,priority=1,JSONPath=`.status.drift.count`
// +kubebuilder:printcolumn:name="READY",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="STATUS",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
type BackupEnrollment struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is what the policy wants.
	// +required
	Spec BackupEnrollmentSpec `json:"spec,omitzero"`

	// status is what became of it.
	// +optional
	Status BackupEnrollmentStatus `json:"status,omitzero"`
}

// BackupEnrollmentList is a list of BackupEnrollments.
//
// +kubebuilder:object:root=true
type BackupEnrollmentList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []BackupEnrollment `json:"items"`
}
