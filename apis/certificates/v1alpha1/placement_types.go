package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// Placement says in which namespaces of a cluster an object is, and what becomes of one of that name that is there already.
type Placement struct {
	// namespaces that have to exist.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespaces []string `json:"namespaces,omitempty"`

	// namespaceSelector selects namespaces by label, at most 500 in a cluster. Those that are made later are among them.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`

	// onConflict says what happens to an object of that name that somebody else made: Fail leaves it as it is, Adopt takes it
	// over. The default is Fail.
	// +optional
	// +default="Fail"
	// +kubebuilder:validation:Enum=Fail;Adopt
	OnConflict ConflictPolicy `json:"onConflict,omitempty"`

	// deletionPolicy says what becomes of the object when the bundle does not want it any more: Delete or Orphan. With
	// spec.deletionPolicy Orphan all objects stay. The default is Delete.
	// +optional
	// +default="Delete"
	DeletionPolicy metav1alpha1.DeletionPolicy `json:"deletionPolicy,omitempty"`
}

// ConflictPolicy says what happens to an object that somebody else made.
type ConflictPolicy string

// Conflict policies.
const (
	ConflictFail  ConflictPolicy = "Fail"
	ConflictAdopt ConflictPolicy = "Adopt"
)

// SecretTarget is a Secret that holds the certificate.
//
// +kubebuilder:validation:XValidation:rule="has(self.namespaces) != has(self.namespaceSelector)",message="set namespaces or namespaceSelector"
type SecretTarget struct {
	Placement `json:",inline"`

	// secretName may hold {{ .Cluster.Name }}, as names in the certificate may.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	SecretName string `json:"secretName,omitempty"`

	// includeCA adds the issuer's authority as ca.crt.
	// +optional
	IncludeCA bool `json:"includeCA,omitempty"`

	// reload says what happens to the workloads that use the Secret when it changes: None, which is the default, or
	// RestartWorkloads.
	// +optional
	Reload ReloadPolicy `json:"reload,omitempty"`

	// keys of the Secret beside tls.crt and tls.key, which it always has.
	// +optional
	// +listType=map
	// +listMapKey=key
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	Keys []SecretKey `json:"keys,omitempty"`
}

// SecretKey is a key of a Secret that holds the certificate in a form of its own.
//
// +kubebuilder:validation:XValidation:rule="(self.format in ['JKS', 'PKCS12']) == has(self.passwordSecretRef)",message="formats JKS and PKCS12 need passwordSecretRef, and PEM has none"
// +kubebuilder:validation:XValidation:rule="!(self.key in ['tls.crt', 'tls.key', 'ca.crt'])",message="tls.crt, tls.key and ca.crt are there anyway: choose another key"
type SecretKey struct {
	// key of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]+$`
	Key string `json:"key,omitempty"`

	// format is PEM, for the private key and the chain in one file, JKS or PKCS12, for a keystore of them.
	// +required
	// +kubebuilder:validation:Enum=PEM;JKS;PKCS12
	Format KeyFormat `json:"format,omitempty"`

	// passwordSecretRef names a Secret in the bundle's namespace with the password of the keystore.
	// +optional
	PasswordSecretRef *metav1alpha1.SecretKeyReference `json:"passwordSecretRef,omitempty"`
}

// KeyFormat is a form in which a certificate is kept.
type KeyFormat string

// Formats.
const (
	FormatPEM    KeyFormat = "PEM"
	FormatJKS    KeyFormat = "JKS"
	FormatPKCS12 KeyFormat = "PKCS12"
)

// Trust says which trust anchors are where in a cluster: those of the sources and, with spec.ca, those of the bundle's own authorities.
type Trust struct {
	// sources of trust anchors, in the bundle's namespace.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Sources []TrustSource `json:"sources,omitempty"`

	// defaultCAs adds the public authorities that Mozilla trusts.
	// +optional
	DefaultCAs bool `json:"defaultCAs,omitempty"`

	// targets are the objects that hold the trust anchors in a cluster.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Targets []TrustTarget `json:"targets,omitempty"`
}

// TrustSource is a key of a ConfigMap or Secret with certificates of authorities in PEM.
type TrustSource struct {
	// kind is ConfigMap or Secret.
	// +required
	// +kubebuilder:validation:Enum=ConfigMap;Secret
	Kind string `json:"kind,omitempty"`

	// name of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// key of its data. The default is ca.crt.
	// +optional
	// +default="ca.crt"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key,omitempty"`
}

// TrustTarget is an object that holds the trust anchors.
//
// +kubebuilder:validation:XValidation:rule="self.kind != 'ClusterTrustBundle' || !has(self.reload) || self.reload == 'None'",message="nothing tells which workloads use a ClusterTrustBundle: remove reload"
// +kubebuilder:validation:XValidation:rule="self.kind == 'ClusterTrustBundle' ? !has(self.namespaces) && !has(self.namespaceSelector) : has(self.namespaces) != has(self.namespaceSelector)",message="set namespaces or namespaceSelector, and neither for a ClusterTrustBundle"
type TrustTarget struct {
	Placement `json:",inline"`

	// kind is ConfigMap, Secret or ClusterTrustBundle. A ClusterTrustBundle is left out where the cluster does not serve it.
	// +required
	// +kubebuilder:validation:Enum=ConfigMap;Secret;ClusterTrustBundle
	Kind string `json:"kind,omitempty"`

	// name of the object. It may hold {{ .Cluster.Name }}, as names in the certificate may.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// reload says what happens to the workloads that use the object when it changes: None, which is the default, or
	// RestartWorkloads. A ClusterTrustBundle has none.
	// +optional
	Reload ReloadPolicy `json:"reload,omitempty"`

	// key of its data that holds all anchors in PEM; a ClusterTrustBundle has none. The default is ca.crt.
	// +optional
	// +default="ca.crt"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]+$`
	Key string `json:"key,omitempty"`
}
