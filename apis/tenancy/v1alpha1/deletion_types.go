package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ConditionOrphansRecorded is True while there are OrphanRecords of the cluster, or of a cluster that the TenantCluster of this
// name had before: until a person has dealt with what they list, and deleted them. Absent otherwise.
const ConditionOrphansRecorded = "OrphansRecorded"

// ReasonOrphansRecorded is the reason of OrphansRecorded.
const ReasonOrphansRecorded = "OrphanRecordsExist"

// DeletionPolicy says how a cluster goes.
type DeletionPolicy struct {
	// timeout is how long a cluster that does not answer, or does not go, holds up the deletion: from 10s
	// to 168h, 15m by default. What may remain is told then.
	//
	// A cluster that does not answer is waited for no longer than that in all. Half of it is for drills and a
	// final backup, and of an ordered cluster the last quarter is for Cluster API. A cluster that answers has the
	// time anew for its add-ons and for its own removal, and as long as they take for drills and a final backup.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('10s') && duration(self) <= duration('168h')",message="must be from 10s to 168h"
	Timeout *metav1.Duration `json:"timeout,omitempty"`

	// finalBackup asks for a last backup, and keeps everything as it is until each BackupEnrollment of the
	// cluster has succeeded after the deletion was asked for. Without anybody who makes backups the deletion waits
	// until this is set to false. A cluster that does not answer goes without one in time, which is told; one that
	// Daytwo never reached goes without any wait.
	// +optional
	FinalBackup bool `json:"finalBackup,omitempty"`
}

// DeletionStep is a step of the deletion of a TenantCluster.
type DeletionStep string

// Steps of a deletion. They come in this order, and none comes again; one that has nothing to wait for is passed.
const (
	// DeletionStoppingDrills: drills in the cluster are waited for. Nothing new comes there, and what is there
	// is kept as it is.
	DeletionStoppingDrills DeletionStep = "StoppingDrills"
	// DeletionFinalBackup: a last backup is waited for.
	DeletionFinalBackup DeletionStep = "FinalBackup"
	// DeletionRemovingTargets: add-ons clean up in the cluster. If it goes as a whole, only those do that have
	// something outside of it.
	DeletionRemovingTargets DeletionStep = "RemovingTargets"
	// DeletionRemovingCluster: Cluster API removes a cluster that Daytwo ordered.
	DeletionRemovingCluster DeletionStep = "RemovingCluster"
	// DeletionReleasing: what may remain is recorded, and Secrets and the TenantCluster are let go. It shows only
	// where that fails.
	DeletionReleasing DeletionStep = "Releasing"
)

// Deletion is how far the deletion of a TenantCluster is.
type Deletion struct {
	// step that is under way: StoppingDrills, FinalBackup, RemovingTargets, RemovingCluster, Releasing, in this
	// order. Those that have nothing to wait for are passed. Ready says what is waited for.
	// +required
	// +kubebuilder:validation:Enum=StoppingDrills;FinalBackup;RemovingTargets;RemovingCluster;Releasing
	Step DeletionStep `json:"step,omitempty"`

	// since is when the step began.
	// +required
	Since metav1.Time `json:"since,omitzero"`

	// deadline is until when the step waits for a cluster that does not answer, or does not go. Absent as long
	// as the step waits however long it takes. What holds the deletion of an add-on up moves it for that one.
	// +optional
	Deadline *metav1.Time `json:"deadline,omitempty"`
}
