package v1alpha1

// KubeconfigReference names a kubeconfig in a Secret of the same namespace, and says whether its credentials are renewed.
type KubeconfigReference struct {
	// name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// key in the Secret's data. The default is value.
	// +optional
	// +default="value"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key,omitempty"`

	// renew has Daytwo come by credentials of its own in the cluster, and renew them before they expire. They are used in
	// the place of the kubeconfig's until the kubeconfig changes. Without it, a person renews the credentials.
	// +optional
	Renew *CredentialsRenewal `json:"renew,omitempty"`
}

// CredentialsRenewal says whose credentials Daytwo renews.
type CredentialsRenewal struct {
	// serviceAccount of the workload cluster for which Daytwo requests tokens. It needs the rights that the kubeconfig's
	// credentials have.
	// +required
	ServiceAccount ServiceAccountReference `json:"serviceAccount,omitzero"`
}

// ServiceAccountReference names a ServiceAccount of a workload cluster.
//
// +kubebuilder:validation:XValidation:rule="self.__namespace__.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",fieldPath=".namespace",message="namespace must be the name of a namespace, such as daytwo-access"
// +kubebuilder:validation:XValidation:rule="self.name.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",fieldPath=".name",message="name must be the name of a ServiceAccount, such as daytwo"
type ServiceAccountReference struct {
	// namespace of the ServiceAccount in the workload cluster.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`

	// name of the ServiceAccount.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}

// String is "namespace/name".
func (r ServiceAccountReference) String() string { return r.Namespace + "/" + r.Name }

// SecretTypeRenewedToken is the type of the Secrets in which Daytwo keeps tokens that it renews. An admission policy lets
// nobody else write them.
const SecretTypeRenewedToken = "daytwo.dev/renewed-token"

// ConditionCredentialsRenewed is whether the credentials that spec.kubeconfigRef.renew asks for are renewed in time. Absent
// where it asks for none.
const ConditionCredentialsRenewed = "CredentialsRenewed"

// Reasons of CredentialsRenewed.
const (
	// ReasonCredentialsRenewed: a token of the ServiceAccount is in use.
	ReasonCredentialsRenewed = "Renewed"
	// ReasonRenewalPending: the first token, or the one in the place of a token that is no good, is awaited.
	ReasonRenewalPending = "Pending"
	// ReasonServiceAccountNotFound: the cluster has no such ServiceAccount.
	ReasonServiceAccountNotFound = "ServiceAccountNotFound"
	// ReasonTokenRequestForbidden: the credentials in use may not request tokens; the message names the right that is missing.
	ReasonTokenRequestForbidden = "TokenRequestForbidden"
	// ReasonTokenExpiresTooSoon: the cluster gives tokens for less than ten minutes.
	ReasonTokenExpiresTooSoon = "TokenExpiresTooSoon"
	// ReasonTokenRefused: the cluster does not accept the token that it gave.
	ReasonTokenRefused = "TokenRefused"
	// ReasonTokenOfOtherCluster: the token opened another cluster than the one in use.
	ReasonTokenOfOtherCluster = "TokenOfOtherCluster"
	// ReasonTokenLacksRights: the ServiceAccount may do less than the credentials in use; the message names a right.
	ReasonTokenLacksRights = "TokenLacksRights"
	// ReasonRenewedSecretExists: somebody else's Secret has the name of the one in which the token is kept.
	ReasonRenewedSecretExists = "SecretExists"
	// ReasonRenewalFailed: something else failed; the message says what.
	ReasonRenewalFailed = "Failed"
)

// SecretTypeKubeconfig is the type of the Secrets in which customers get the kubeconfigs of clusters on order. Only the
// manager may write them: config/admission/manager_only.yaml.
const SecretTypeKubeconfig = "daytwo.dev/kubeconfig"

// ConditionKubeconfigProvided is whether the customer has the kubeconfig of a cluster on order; the message names the Secret. Absent
// of other clusters, and until there is one.
const ConditionKubeconfigProvided = "KubeconfigProvided"

// Reasons of KubeconfigProvided.
const (
	// ReasonKubeconfigProvided: the Secret holds the kubeconfig.
	ReasonKubeconfigProvided = "Provided"
	// ReasonKubeconfigSecretExists: a Secret of the name exists that Daytwo did not make.
	ReasonKubeconfigSecretExists = "SecretExists"
	// ReasonKubeconfigNotWritten: the Secret could not be written; the message says why.
	ReasonKubeconfigNotWritten = "NotWritten"
)
