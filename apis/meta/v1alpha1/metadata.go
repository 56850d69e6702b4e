package v1alpha1

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Labels. Those on targets are written by the manager only.
const (
	// LabelPolicy names the policy of a target or revision.
	LabelPolicy = "daytwo.dev/policy"
	// LabelCluster names the TenantCluster of a target.
	LabelCluster = "daytwo.dev/cluster"
	// LabelClusterNamespace is the namespace of the TenantCluster of a target.
	LabelClusterNamespace = "daytwo.dev/cluster-namespace"
	// LabelClusterID is the identity of a connected TenantCluster, so that its uniqueness can be looked up.
	LabelClusterID = "daytwo.dev/cluster-id"
	// LabelRevision is the content hash of a revision.
	LabelRevision = "daytwo.dev/revision"

	// LabelManagedBy marks an object in a workload cluster; its value is the installation's id.
	LabelManagedBy = "daytwo.dev/managed-by"
	// LabelHash is the hash of an applied object's desired content, `v1-` and 16 hex digits.
	LabelHash = "daytwo.dev/hash"
	// LabelAction marks an object that an action made in a workload cluster; its value is the UID of the object whose action
	// it is.
	LabelAction = "daytwo.dev/action"
	// LabelDrill marks a namespace in a workload cluster into which a DRDrill restores; its value is the name of the drill.
	LabelDrill = "daytwo.dev/drill"
	// LabelDrillJob marks the pods of a job of a DRDrill; its value is the name of the job.
	LabelDrillJob = "daytwo.dev/drill-job"
	// LabelDrillPlan names the plan of a BackupPolicy that made a DRDrill.
	LabelDrillPlan = "daytwo.dev/drill-plan"
	// LabelBundle names the CertificateBundle for which a Certificate of cert-manager, its Secret, or an issuance was made.
	LabelBundle = "daytwo.dev/bundle"
	// LabelAuthority names the CertificateBundle of whose own authorities a Secret holds one, or the clusters that take part in a rotation.
	LabelAuthority = "daytwo.dev/authority"
	// LabelDelivery names the CertificateDelivery for which a CertificateRequest of cert-manager was made.
	LabelDelivery = "daytwo.dev/delivery"
	// LabelBackup marks a Backup of Velero as one that a BackupEnrollment made; its value is the name of the Schedule.
	LabelBackup = "daytwo.dev/backup"

	// ProviderLabelPrefix starts the labels and annotations that only the provider may write. A policy that
	// selects across namespaces selects by these and no others.
	ProviderLabelPrefix = "provider.daytwo.dev/"
	// LabelDrillCluster marks a TenantCluster that was ordered for a DRDrill; its value is the name of the drill. Policies
	// select none of them, whatever their selectors, but those that AnnotationOpenTo names.
	LabelDrillCluster = ProviderLabelPrefix + "drill"
)

// Labels of namespaces of the management cluster.
const (
	// LabelClustersOf marks a namespace that Daytwo made for the Clusters of a customer; its value is the UID of the customer's
	// namespace.
	LabelClustersOf = ProviderLabelPrefix + "clusters-of"
	// LabelHoldsClusters marks a namespace with Clusters of Cluster API, whose Secrets an admission policy protects there. Daytwo
	// sets it to "true" where it finds a Cluster, and leaves it.
	LabelHoldsClusters = ProviderLabelPrefix + "holds-clusters"
)

// Annotations that people set.
const (
	// AnnotationSuspendUntil holds an RFC 3339 time; until then drift is reported and not
	// corrected, and no new revision is applied. On a TenantCluster, where it is about the policies of the
	// same namespace, a policy or a target.
	AnnotationSuspendUntil = "daytwo.dev/suspend-until"
	// AnnotationProviderSuspendUntil on a TenantCluster holds an RFC 3339 time, and suspends all policies in the cluster until
	// then, the provider's too. Only the provider sets and removes it.
	AnnotationProviderSuspendUntil = ProviderLabelPrefix + "suspend-until"
	// AnnotationProviderDeletionProtection on a TenantCluster with the value "true" keeps it from being deleted by anybody. Only
	// the provider sets and removes it.
	AnnotationProviderDeletionProtection = ProviderLabelPrefix + "deletion-protection"
	// AnnotationRequestedAt asks for a try now, whenever its value changes: on a policy in all of its
	// clusters, on a target in its cluster, on a TenantCluster a connection and all targets in it.
	AnnotationRequestedAt = "daytwo.dev/requested-at"
	// AnnotationRunTests asks for a run of the test hooks of an add-on's chart, whenever its value
	// changes: on a policy in all of its clusters, on a target in its cluster.
	AnnotationRunTests = "daytwo.dev/run-tests"
	// AnnotationBackupNow asks for a backup, whenever its value changes: on a BackupPolicy in all of its clusters, on a
	// BackupEnrollment in its cluster, on a TenantCluster by all policies that back it up.
	AnnotationBackupNow = "daytwo.dev/backup-now"
	// AnnotationAbandon with the value "true" lets a target or a run go whose cluster cannot be reached.
	AnnotationAbandon = "daytwo.dev/abandon"
	// AnnotationSkipDeleteHooks with the value "true" on a target removes it without the pre-delete and post-delete
	// hooks of its chart, as helm uninstall --no-hooks does.
	AnnotationSkipDeleteHooks = "daytwo.dev/skip-delete-hooks"
	// AnnotationAcceptClusterID holds the identity of the cluster that a TenantCluster may lead
	// to from now on, though it led to another one before.
	AnnotationAcceptClusterID = "daytwo.dev/accept-cluster-id"
	// AnnotationConfirmWithdrawal holds how many clusters a policy may lose that its withdrawal
	// guard holds back: the number that its Stalled condition names. Each value confirms once, and
	// only if it was set no earlier than what it confirms. For TenantClusters that are deleted under a policy of
	// several namespaces the value is <namespace>=<number>, with commas between several.
	AnnotationConfirmWithdrawal = "daytwo.dev/confirm-withdrawal"
	// AnnotationConfirmEmergency holds the generation of the authority for which a CertificateBundle skips the overlap, as its
	// spec.rotation.emergencyReason asks for.
	AnnotationConfirmEmergency = "daytwo.dev/confirm-emergency"
)

// Annotations that people set on objects in what they declare for workload clusters.
const (
	// AnnotationReplace with the value "true" has an object deleted and made anew when a field changes that never does. It
	// holds for no Namespace, definition or PersistentVolumeClaim, since others go with these.
	AnnotationReplace = "daytwo.dev/replace"
)

// Annotations that Daytwo sets on what it makes.
const (
	// AnnotationOpenTo on a TenantCluster with LabelDrillCluster names the policies that may select it, separated by commas, as
	// in "SaaSAddon/velero,SaaSAddon/csi".
	AnnotationOpenTo = "daytwo.dev/open-to"
	// AnnotationAttempt counts how often the same was asked for, from 1.
	AnnotationAttempt = "daytwo.dev/attempt"
)

// Types of the Secrets that Daytwo writes, all of which begin with daytwo.dev/: an admission policy lets the manager write no
// others, apart from those of type kubernetes.io/tls that LabelAuthority marks.
const (
	// SecretTypeIssuance is the type of Secrets that hold an issued certificate with its key.
	SecretTypeIssuance = "daytwo.dev/issuance"
	// SecretTypeRotationMembers is the type of Secrets that name the clusters which take part in a rotation.
	SecretTypeRotationMembers = "daytwo.dev/rotation-members"
	// SecretTypeMintedCredentials is the type of Secrets with temporary credentials for the backups of one cluster.
	SecretTypeMintedCredentials = "daytwo.dev/minted-credentials"
)

// Finalizers.
const (
	// FinalizerTarget keeps a target until its work in the workload cluster is undone.
	FinalizerTarget = "daytwo.dev/target"
	// FinalizerRun keeps a run until what it made in workload clusters is removed.
	FinalizerRun = "daytwo.dev/run"
	// FinalizerPolicy keeps a policy until its targets are gone.
	FinalizerPolicy = "daytwo.dev/policy"
	// FinalizerCluster keeps a TenantCluster until no target needs it.
	FinalizerCluster = "daytwo.dev/cluster"
	// FinalizerAccess keeps a kubeconfig Secret until its TenantCluster needs it no more.
	FinalizerAccess = "daytwo.dev/access"
)

// FieldManager is the name under which Daytwo applies objects, in every cluster.
const FieldManager = "daytwo"

// maxRequest is how much of the annotation's value tells one request from another, in bytes.
const maxRequest = 64

// RequestedAt returns the value of the annotation daytwo.dev/requested-at, cut to its first 64 bytes;
// empty if nothing was asked for.
func RequestedAt(object metav1.Object) string { return requested(object, AnnotationRequestedAt) }

// TestsRequested returns the value of the annotation daytwo.dev/run-tests, cut to its first 64 bytes;
// empty if no tests were asked for.
func TestsRequested(object metav1.Object) string { return requested(object, AnnotationRunTests) }

// BackupRequested returns the value of the annotation daytwo.dev/backup-now, cut to its first 64 bytes;
// empty if no backup was asked for.
func BackupRequested(object metav1.Object) string { return requested(object, AnnotationBackupNow) }

// maxConfirmations is how much of daytwo.dev/confirm-withdrawal is read, in bytes.
const maxConfirmations = 1024

// WithdrawalConfirmed returns the value of the annotation daytwo.dev/confirm-withdrawal, cut to its
// first 1,024 bytes; empty if nothing is confirmed.
func WithdrawalConfirmed(object metav1.Object) string {
	value := object.GetAnnotations()[AnnotationConfirmWithdrawal]
	// Half a character at the end would not come back from the status as it was written.
	return strings.ToValidUTF8(value[:min(len(value), maxConfirmations)], "")
}

func requested(object metav1.Object, annotation string) string {
	value := object.GetAnnotations()[annotation]
	return value[:min(len(value), maxRequest)]
}
