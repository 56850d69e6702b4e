package v1alpha1

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

// DriftPolicy says what happens when somebody else changes an object.
type DriftPolicy struct {
	// mode is what happens: Correct takes drift back at once, Report shows it, Off ignores it.
	// +optional
	// +default="Correct"
	Mode DriftMode `json:"mode,omitempty"`

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
