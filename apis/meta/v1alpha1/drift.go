package v1alpha1

import "cmp"

// DriftMode says what happens when drift is seen.
//
// +kubebuilder:validation:Enum=Correct;Report;Off
type DriftMode string

// Drift modes.
const (
	// DriftCorrect takes drift back at once.
	DriftCorrect DriftMode = "Correct"
	// DriftReport shows drift in the target's status and leaves it.
	DriftReport DriftMode = "Report"
	// DriftOff ignores drift.
	DriftOff DriftMode = "Off"
)

// DriftAdditions says which fields that others added to an object are drift. What the manifest declares is taken
// back from everybody, and what the catalog of exceptions names stays, whatever it says.
//
// +kubebuilder:validation:Enum=PeopleAndSensitive;All;None
type DriftAdditions string

// Additions that are drift.
const (
	// DriftAdditionsPeopleAndSensitive: what a person's tool added, and what anybody added where it runs, grants
	// or selects something. What a program added in a harmless place stays.
	DriftAdditionsPeopleAndSensitive DriftAdditions = "PeopleAndSensitive"
	// DriftAdditionsAll: every addition.
	DriftAdditionsAll DriftAdditions = "All"
	// DriftAdditionsNone: no addition.
	DriftAdditionsNone DriftAdditions = "None"
)

// DriftPolicy says what happens when somebody else changes an object.
type DriftPolicy struct {
	// mode is what happens: Correct takes drift back at once, Report shows it, Off ignores it. The default is Correct.
	// +optional
	// +default="Correct"
	Mode DriftMode `json:"mode,omitempty"`

	// additions says what others may not add to an object: PeopleAndSensitive takes back what a person's tool
	// added, and what anybody added in a sensitive place; All takes back every addition; None leaves them.
	// People and programs are told apart by their field managers, which every client chooses for itself.
	// The default is PeopleAndSensitive.
	// +optional
	// +default="PeopleAndSensitive"
	Additions DriftAdditions `json:"additions,omitempty"`

	// ignore lists fields that others may change.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Ignore []DriftIgnore `json:"ignore,omitempty"`
}

// DriftIgnore lists fields of some objects that others may change.
type DriftIgnore struct {
	// target selects the objects; what is empty selects all.
	// +optional
	Target ObjectSelector `json:"target,omitzero"`

	// jsonPointers to the fields (RFC 6901), as in /spec/replicas.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=2
	// +kubebuilder:validation:items:MaxLength=512
	// +kubebuilder:validation:items:Pattern=`^/`
	JSONPointers []string `json:"jsonPointers,omitempty"`
}

// ObjectSelector selects objects of an add-on.
type ObjectSelector struct {
	// group of the kind; empty selects any.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group,omitempty"`

	// kind of the object, as in Deployment; empty selects any.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind,omitempty"`

	// namespace of the object; empty selects any.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`

	// name of the object; empty selects any.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}

// WithDefaults returns the policy as the API server completes it, for one that was written before there was a default.
func (p DriftPolicy) WithDefaults() DriftPolicy {
	p.Mode = cmp.Or(p.Mode, DriftCorrect)
	return p
}
