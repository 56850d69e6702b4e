package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// ChartSource is a Helm chart, installed as a Helm release in every selected cluster. Helm renders it
// and keeps the release's record; Daytwo applies the objects, runs the hooks and keeps both as declared.
//
// +kubebuilder:validation:XValidation:rule="has(self.releaseName) == has(oldSelf.releaseName) && (!has(self.releaseName) || self.releaseName == oldSelf.releaseName)",message="the name of a Helm release cannot be changed: delete the add-on, and create another"
type ChartSource struct {
	// repository that holds the chart: https:// with an index.yaml, or oci://.
	// +required
	// +kubebuilder:validation:MinLength=7
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^(https|oci)://[^@\s]+$`
	Repository string `json:"repository,omitempty"`

	// name of the chart in the repository.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=250
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9][a-zA-Z0-9._-]*$`
	Name string `json:"name,omitempty"`

	// version is exact, as in "1.2.3", or a range, as in "1.x" or ">=1.2 <2". A range is resolved once,
	// when the add-on changes or somebody asks with the annotation daytwo.dev/requested-at, and stays at
	// what it was resolved to until then.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Version string `json:"version,omitempty"`

	// digest that the chart's archive must have. It also accepts a chart whose content was changed
	// under its version, which is refused otherwise.
	// +optional
	// +kubebuilder:validation:Pattern=`^sha256:[0-9a-f]{64}$`
	Digest string `json:"digest,omitempty"`

	// secretRef names a Secret of the same namespace with credentials for the repository: username and
	// password (type kubernetes.io/basic-auth), or .dockerconfigjson. They are sent to its host only.
	// +optional
	SecretRef *metav1alpha1.LocalReference `json:"secretRef,omitempty"`

	// caRef names a Secret of the same namespace whose key ca.crt holds, as PEM, the authorities that
	// the repository's certificate may be from. Without it, those of the manager's system.
	// +optional
	CARef *metav1alpha1.LocalReference `json:"caRef,omitempty"`

	// releaseName is the name of the Helm release; by default the add-on's. Its namespace is
	// spec.namespace.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=53
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	ReleaseName string `json:"releaseName,omitempty"`

	// crds says what becomes of the definitions in the chart's crds directories: Create makes those that
	// are missing, CreateReplace also upgrades the others, Skip leaves them to somebody else. None is
	// ever deleted. The default is CreateReplace.
	// +optional
	// +default="CreateReplace"
	CRDs CRDPolicy `json:"crds,omitempty"`

	// hookTimeoutSeconds is how long one hook may take. The default is 300.
	// +optional
	// +default=300
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	HookTimeoutSeconds int32 `json:"hookTimeoutSeconds,omitempty"`
}

// CRDPolicy is Create, CreateReplace or Skip.
//
// +kubebuilder:validation:Enum=Create;CreateReplace;Skip
type CRDPolicy string

// Policies for the definitions in a chart's crds directories.
const (
	CRDCreate        CRDPolicy = "Create"
	CRDCreateReplace CRDPolicy = "CreateReplace"
	CRDSkip          CRDPolicy = "Skip"
)

// ValuesReference names a key of a Secret or ConfigMap of the same namespace that holds values as YAML.
type ValuesReference struct {
	// kind is Secret or ConfigMap.
	// +required
	// +kubebuilder:validation:Enum=Secret;ConfigMap
	Kind string `json:"kind,omitempty"`

	// name of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// key in its data. The default is values.yaml.
	// +optional
	// +default="values.yaml"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key,omitempty"`
}

// ResolvedChart is the chart that a revision is made of.
type ResolvedChart struct {
	// repository of the source when it was resolved.
	// +required
	// +kubebuilder:validation:MaxLength=1024
	Repository string `json:"repository,omitempty"`

	// name of the chart.
	// +required
	// +kubebuilder:validation:MaxLength=250
	Name string `json:"name,omitempty"`

	// requested is the source's version when it was resolved, which may be a range.
	// +required
	// +kubebuilder:validation:MaxLength=128
	Requested string `json:"requested,omitempty"`

	// version that it was resolved to.
	// +required
	// +kubebuilder:validation:MaxLength=128
	Version string `json:"version,omitempty"`

	// digest of the chart's archive.
	// +required
	// +kubebuilder:validation:MaxLength=71
	Digest string `json:"digest,omitempty"`

	// handledRequest is the value of the annotation daytwo.dev/requested-at at that time.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	HandledRequest string `json:"handledRequest,omitempty"`
}

// HelmRelease tells of the Helm release that an AddonRelease keeps in its cluster.
type HelmRelease struct {
	// name of the release.
	// +required
	// +kubebuilder:validation:MaxLength=53
	Name string `json:"name,omitempty"`

	// namespace of the release.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`

	// version of the record that was written last, as `helm history` counts.
	// +optional
	Version int32 `json:"version,omitempty"`

	// chart is its name and version, as in "valkey-1.2.3".
	// +optional
	// +kubebuilder:validation:MaxLength=379
	Chart string `json:"chart,omitempty"`

	// record is the inventory's entry of that record.
	// +optional
	Record *metav1alpha1.InventoryEntry `json:"record,omitempty"`

	// operation that is under way, or was the last one with hooks.
	// +optional
	Operation *HelmOperation `json:"operation,omitempty"`

	// renderings that have to be kept, the latest first: rendering the chart again would give
	// something else, such as another password.
	// +optional
	// +listType=map
	// +listMapKey=inputsHash
	// +kubebuilder:validation:MaxItems=6
	Renderings []KeptRendering `json:"renderings,omitempty"`

	// tests is the last run of the chart's test hooks.
	// +optional
	Tests *HelmTests `json:"tests,omitempty"`
}

// HelmOperationKind is what is done to a release.
//
// +kubebuilder:validation:Enum=Install;Upgrade;Rollback;Uninstall;Test
type HelmOperationKind string

// Operations on a release.
const (
	HelmInstall   HelmOperationKind = "Install"
	HelmUpgrade   HelmOperationKind = "Upgrade"
	HelmRollback  HelmOperationKind = "Rollback"
	HelmUninstall HelmOperationKind = "Uninstall"
	HelmTest      HelmOperationKind = "Test"
)

// HelmOperation is one operation and its hooks, so that it goes on where it was after a restart of the
// manager.
type HelmOperation struct {
	// kind of the operation.
	// +required
	Kind HelmOperationKind `json:"kind,omitempty"`

	// id tells one operation from another; hooks carry it as an annotation.
	// +required
	// +kubebuilder:validation:MaxLength=63
	ID string `json:"id,omitempty"`

	// rollbackTo is the version of the record that a rollback goes back to.
	// +optional
	RollbackTo int32 `json:"rollbackTo,omitempty"`

	// hooks that were started, in their order.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=300
	Hooks []HookRun `json:"hooks,omitempty"`
}

// HookPhase is Running, Succeeded or Failed.
//
// +kubebuilder:validation:Enum=Running;Succeeded;Failed
type HookPhase string

// Phases of a hook.
const (
	HookRunning   HookPhase = "Running"
	HookSucceeded HookPhase = "Succeeded"
	HookFailed    HookPhase = "Failed"
)

// HookRun is one run of one hook. It is written before the hook is created.
type HookRun struct {
	// event that the hook runs at, as in "pre-install".
	// +required
	// +kubebuilder:validation:MaxLength=63
	Event string `json:"event,omitempty"`

	// object is the hook's id, as in the inventory.
	// +required
	// +kubebuilder:validation:MaxLength=1024
	Object string `json:"object,omitempty"`

	// uid of the hook, once it was created.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	UID string `json:"uid,omitempty"`

	// phase of the run.
	// +required
	Phase HookPhase `json:"phase,omitempty"` //nolint:kubeapilinter // It is what Helm calls it, and says, in its record.

	// startedAt is when it was created.
	// +required
	StartedAt metav1.MicroTime `json:"startedAt,omitzero"`

	// completedAt is when it was seen to have ended.
	// +optional
	CompletedAt *metav1.MicroTime `json:"completedAt,omitempty"`

	// message tells why it failed.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	Message string `json:"message,omitempty"`
}

// KeptRendering is a rendering that is stored, since it cannot be made again.
type KeptRendering struct {
	// inputsHash that it was made from.
	// +required
	// +kubebuilder:validation:MaxLength=64
	InputsHash string `json:"inputsHash,omitempty"`

	// name of the Secret that holds it, in the target's namespace.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}

// HelmTests is one run of the chart's test hooks.
type HelmTests struct {
	// token is the value of the annotation daytwo.dev/run-tests that asked for it.
	// +required
	// +kubebuilder:validation:MaxLength=256
	Token string `json:"token,omitempty"`

	// phase of the run.
	// +required
	Phase HookPhase `json:"phase,omitempty"` //nolint:kubeapilinter // It is what Helm calls it, and says, in its record.

	// message tells what failed, or how many tests succeeded.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	Message string `json:"message,omitempty"`

	// completedAt is when it ended.
	// +optional
	CompletedAt *metav1.MicroTime `json:"completedAt,omitempty"`
}
