package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Condition types of a target that keeps objects in its cluster, beside the common ones.
const (
	// ConditionApplied: the objects of the revision are in the cluster as declared, and those
	// that left it are gone.
	ConditionApplied = "Applied"
	// ConditionHealthy: every object is what kstatus calls Current.
	ConditionHealthy = "Healthy"
	// ConditionDrifted: somebody changed an object and it has not been taken back.
	ConditionDrifted = "Drifted"
)

// Reasons of the conditions of such a target, beside the common ones.
const (
	// ReasonConflict: an object belongs to somebody else; the message names the owner.
	ReasonConflict = "Conflict"
	// ReasonRevisionNotFound: the revision is gone, or not whole; only the policy can write it again.
	ReasonRevisionNotFound = "RevisionNotFound"
	// ReasonStatusTooLarge: the status could not tell of all that would be in the cluster.
	ReasonStatusTooLarge = "StatusTooLarge"
	// ReasonUnknownKind: the cluster does not serve a kind.
	ReasonUnknownKind = "UnknownKind"
	// ReasonRefused: the cluster's API server refused an object as it is, or it did not stand a check before it was sent.
	ReasonRefused = "Refused"
	// ReasonWaiting: objects of an earlier stage (namespaces, CRDs) are awaited.
	ReasonWaiting = "Waiting"
	// ReasonUnhealthy: an object has failed; the message names it.
	ReasonUnhealthy = "Unhealthy"
	// ReasonStandstill: an object has been on its way for a while; the message names it, its pods' own reason, and since when.
	ReasonStandstill = "Standstill"
	// ReasonInSync: nobody changed anything.
	ReasonInSync = "InSync"
	// ReasonReported: drift is left in place because drift.mode is Report or corrections are suspended.
	ReasonReported = "Reported"
	// ReasonContested: somebody keeps changing an object; the message names them and the object.
	ReasonContested = "Contested"
	// ReasonIgnored: drift is not looked for.
	ReasonIgnored = "Ignored"
	// ReasonKindUnavailable: the cluster refuses to list or watch a kind of the add-on; what is known of the objects of
	// that kind may be outdated.
	ReasonKindUnavailable = "KindUnavailable"
)

// ObjectsStatus is what a target tells of the objects that it keeps in its cluster.
type ObjectsStatus struct {
	// inputsHash is the hash of everything that the applied objects were rendered from.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	InputsHash string `json:"inputsHash,omitempty"`

	// applying is the inputsHash of what was begun after that and is not applied completely.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Applying string `json:"applying,omitempty"`

	// inventory lists the objects that are in the cluster because of this target: at most 2000, and as many again
	// while one revision takes the place of another.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4000
	Inventory []InventoryEntry `json:"inventory,omitempty"`

	// removed are the objects that were removed last, the latest last. One that a snapshot of the cluster brings back is
	// removed again.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	Removed []RemovedObject `json:"removed,omitempty"`

	// drift tells what others changed.
	// +optional
	Drift DriftStatus `json:"drift"`
}

// RemovedObject is an object that is not in the cluster any more.
type RemovedObject struct {
	// id is apiVersion/Kind/namespace/name, as in "apps/v1/Deployment/cache/web".
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	ID string `json:"id,omitempty"`

	// uid that it had. No later object of its name has it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	UID string `json:"uid,omitempty"`
}

// DriftStatus tells what others changed and what came of it.
type DriftStatus struct {
	// count of corrections since the release was made.
	// +required
	// +kubebuilder:validation:Minimum=0
	Count int64 `json:"count"`

	// lastDetected is when drift was seen last.
	// +optional
	LastDetected *metav1.MicroTime `json:"lastDetected,omitempty"`

	// lastCorrected is when drift was taken back last.
	// +optional
	LastCorrected *metav1.MicroTime `json:"lastCorrected,omitempty"`

	// corrections are the latest ten, the latest first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	Corrections []DriftCorrection `json:"corrections,omitempty"`

	// tolerated names up to ten field managers that set something in objects of the add-on that stays there, those
	// with the most objects first.
	// +optional
	// +listType=map
	// +listMapKey=manager
	// +kubebuilder:validation:MaxItems=10
	Tolerated []ToleratedManager `json:"tolerated,omitempty"`

	// rules is the version of the rules that the inventory was compared with last: what Daytwo, its flags and
	// the policy's drift settings let others set. A new version is no drift.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Rules string `json:"rules,omitempty"`
}

// ToleratedManager is a field manager that set something that stays.
type ToleratedManager struct {
	// manager is its name, which every client chooses for itself.
	// +required
	// +kubebuilder:validation:MaxLength=128
	Manager string `json:"manager"`

	// objects is in how many objects.
	// +required
	// +kubebuilder:validation:Minimum=1
	Objects int32 `json:"objects"`
}

// DriftCorrection is one change by somebody else that was taken back.
type DriftCorrection struct {
	// object is the id that it has in the inventory.
	// +required
	// +kubebuilder:validation:MaxLength=1024
	Object string `json:"object,omitempty"`

	// fields that they changed, at most ten; a count of the rest follows.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=11
	// +kubebuilder:validation:items:MaxLength=600
	Fields []string `json:"fields,omitempty"`

	// manager is the field manager, which tells the program: kubectl-edit, for one. Empty where
	// the cluster does not tell (a deletion).
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Manager string `json:"manager,omitempty"`

	// operation is Update, Apply, Delete or Unlabel.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Operation string `json:"operation,omitempty"`

	// changed is when they did it, in whole seconds, where the cluster tells.
	// +optional
	Changed *metav1.Time `json:"changed,omitempty"`

	// corrected is when it was taken back.
	// +required
	Corrected metav1.MicroTime `json:"corrected,omitzero"`
}

// ObjectIDs are the IDs of the objects in the inventory, in its order.
func (s *ObjectsStatus) ObjectIDs() []string {
	ids := make([]string, 0, len(s.Inventory))
	for _, entry := range s.Inventory {
		ids = append(ids, entry.ID)
	}
	return ids
}
