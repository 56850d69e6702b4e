package v1alpha1

// Condition types that every kind carries. They mean what kstatus says they mean: Ready is the
// summary, Reconciling is True while work is under way, Stalled is True when no further try will
// help until a person changes something. Reconciling and Stalled are absent otherwise.
const (
	ConditionReady       = "Ready"
	ConditionReconciling = "Reconciling"
	ConditionStalled     = "Stalled"
)

// Reasons that more than one kind uses.
const (
	// ReasonSucceeded: what the object asks for is so.
	ReasonSucceeded = "Succeeded"
	// ReasonProgressing: work is under way; nobody needs to do anything yet.
	ReasonProgressing = "Progressing"
	// ReasonSuspended: a person asked Daytwo to keep its hands off.
	ReasonSuspended = "Suspended"
	// ReasonWindowClosed: what disturbs a cluster waits for one of its maintenance windows.
	ReasonWindowClosed = "WindowClosed"
	// ReasonUpgrading: an upgrade of the cluster is under way.
	ReasonUpgrading = "Upgrading"
	// ReasonTerminating: the cluster is being deleted, and something precedes the removal of its targets.
	ReasonTerminating = "Terminating"
	// ReasonDeleting: the object is being deleted; the message says what is left to do.
	ReasonDeleting = "Deleting"
	// ReasonClusterUnreachable: the workload cluster does not answer; what was known of it is old news.
	ReasonClusterUnreachable = "ClusterUnreachable"
	// ReasonClusterUnusable: the workload cluster cannot be worked with, for another reason than that it does not answer; the
	// message says what to mend. What was known of it is old news.
	ReasonClusterUnusable = "ClusterUnusable"
	// ReasonInvalidSpec: the spec cannot be carried out as written; the message names the field.
	ReasonInvalidSpec = "InvalidSpec"
	// ReasonTargetsFailed: at least one target of a policy failed.
	ReasonTargetsFailed = "TargetsFailed"
	// ReasonRollingOut: some targets of a policy are not at its current revision, or not ready with it, yet.
	ReasonRollingOut = "RollingOut"
	// ReasonRolloutStopped: clusters wait for slots that only failed targets hold. The message says what to do.
	ReasonRolloutStopped = "RolloutStopped"
	// ReasonWithdrawalGuard: a policy would lose more clusters within an hour than its guard allows; the
	// message says how many, and how to confirm that.
	ReasonWithdrawalGuard = "WithdrawalGuard"
	// ReasonNoClusters: a policy selects no TenantCluster.
	ReasonNoClusters = "NoClusters"
	// ReasonContentInvalid: the content of a policy can be used for none of its clusters, and no cluster gets it; the message says
	// why, and what to correct.
	ReasonContentInvalid = "ContentInvalid"
	// ReasonReferenceNotFound: a referenced object does not exist.
	ReasonReferenceNotFound = "ReferenceNotFound"
	// ReasonSecretsNotReadable: the manager may not read the Secrets of a namespace; the message says what the provider's team has to do.
	ReasonSecretsNotReadable = "SecretsNotReadable"
	// ReasonSelectorNotAllowed: a policy selects in a way that its namespace may not.
	ReasonSelectorNotAllowed = "SelectorNotAllowed"
	// ReasonAbandoned: a target goes, and its objects stay in a cluster that cannot be reached.
	ReasonAbandoned = "Abandoned"
	// ReasonFailed: the last try failed and is repeated with backoff.
	ReasonFailed = "Failed"
)
