package v1alpha1

// Finalizer is on every object with something behind it, until that is gone.
const Finalizer = "infrastructure.local.daytwo.dev/cleanup"

// FailAnnotation makes a LocalCluster, LocalControlPlane or LocalMachine fail, with the annotation's value
// as message, until it is taken away. What was made before goes on.
const FailAnnotation = "local.daytwo.dev/fail"

// Types of conditions.
const (
	// ConditionReady says that a LocalCluster, LocalMachine or LocalBootstrapConfig is what was asked for.
	ConditionReady = "Ready"
	// ConditionAvailable says that a LocalControlPlane answers.
	ConditionAvailable = "Available"
	// ConditionRollingOut says that a LocalControlPlane is being moved to another version or other flags.
	ConditionRollingOut = "RollingOut"
)

// Reasons of conditions.
const (
	// ReasonReady: it is as it should be.
	ReasonReady = "Ready"
	// ReasonWaiting: something else has to come first.
	ReasonWaiting = "Waiting"
	// ReasonStarting: programs are being started, for the first time or again.
	ReasonStarting = "Starting"
	// ReasonRollingOut: programs are being replaced.
	ReasonRollingOut = "RollingOut"
	// ReasonUnknownVersion: there is no build of the version that was asked for.
	ReasonUnknownVersion = "UnknownVersion"
	// ReasonFailed: it did not work; it is tried again.
	ReasonFailed = "Failed"
	// ReasonInjectedFailure: FailAnnotation wants it so.
	ReasonInjectedFailure = "InjectedFailure"
	// ReasonDeleting: it is about to go.
	ReasonDeleting = "Deleting"
)

// TemplateMetadata is what objects made from a template get.
type TemplateMetadata struct {
	// labels of the objects.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// annotations of the objects.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Provisioned tells that something was provisioned. It stays true once it is.
type Provisioned struct {
	// provisioned is true once it was.
	// +optional
	Provisioned *bool `json:"provisioned,omitempty"`
}
