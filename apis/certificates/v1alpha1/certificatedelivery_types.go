package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// CertificateDeliverySpec is one bundle in one cluster.
type CertificateDeliverySpec struct {
	metav1alpha1.TargetSpec `json:",inline"`

	// authority is what the cluster should trust beside the anchors of the revision.
	// +optional
	Authority *DeliveredAuthority `json:"authority,omitempty"`

	// signerName is that of the CertificateSigningRequests in the cluster that are answered; empty for none.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	SignerName string `json:"signerName,omitempty"`

	// probe is the policy's.
	// +optional
	Probe *Probe `json:"probe,omitempty"`

	// drift is the policy's.
	// +optional
	// +default={}
	Drift metav1alpha1.DriftPolicy `json:"drift,omitzero"` //nolint:kubeapilinter // A struct of another package: omitzero is what omits it.
}

// CertificateDeliveryStatus tells what is in the cluster.
type CertificateDeliveryStatus struct {
	metav1alpha1.TargetStatus `json:",inline"`

	metav1alpha1.ObjectsStatus `json:",inline"`

	// certificate that was delivered last.
	// +optional
	Certificate *DeliveredCertificate `json:"certificate,omitempty"`

	// anchors that were delivered last.
	// +optional
	Anchors *AnchorSummary `json:"anchors,omitempty"`

	// authority is what was read back of the bundle's own authorities.
	// +optional
	Authority *AuthorityAcknowledgement `json:"authority,omitempty"`

	// requests tells of the CertificateSigningRequests in the cluster.
	// +optional
	Requests *RequestSummary `json:"requests,omitempty"`

	// namespaceSelectors are the selectors of namespaces that the objects were declared by last.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=8192
	NamespaceSelectors []string `json:"namespaceSelectors,omitempty"`

	// namespaces is the hash of the namespaces that these selected then.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Namespaces string `json:"namespaces,omitempty"`

	// reload tells what workloads are to have loaded, where the bundle has them restarted.
	// +optional
	Reload *ReloadStatus `json:"reload,omitempty"`

	// probe tells what the server that is probed served last.
	// +optional
	Probe *ProbeStatus `json:"probe,omitempty"`
}

// ReloadStatus tells what workloads are to have loaded, and whether they have.
type ReloadStatus struct {
	// targets are the objects whose workloads are restarted.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Targets []ReloadTarget `json:"targets,omitempty"`

	// loaded is the hash of what all workloads have loaded: that of targets, once none of them is waited for.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Loaded string `json:"loaded,omitempty"`

	// loadedUntil is when the certificate expires that workloads may still have loaded in the place of the one that was
	// delivered.
	// +optional
	LoadedUntil *metav1.Time `json:"loadedUntil,omitempty"`
}

// ReloadTarget is the objects of one target of the bundle.
type ReloadTarget struct {
	// kind is Secret or ConfigMap.
	// +required
	// +kubebuilder:validation:Enum=Secret;ConfigMap
	Kind string `json:"kind,omitempty"`

	// name of the objects.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// hash of their data.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Hash string `json:"hash,omitempty"`

	// namespaces in which they are, where the target names them.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	Namespaces []string `json:"namespaces,omitempty"`

	// selector of the namespaces, where the target selects them.
	// +optional
	// +kubebuilder:validation:MaxLength=8192
	Selector string `json:"selector,omitempty"`
}

// ProbeStatus tells what a TLS server served.
type ProbeStatus struct {
	// checkedAt is when it was connected to.
	// +required
	CheckedAt metav1.Time `json:"checkedAt,omitzero"`

	// asked is the hash of what was asked: of the server, and of the certificate that it was to serve.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Asked string `json:"asked,omitempty"`

	// fails is how often in a row the server did not serve the certificate.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Fails int32 `json:"fails,omitempty"`

	// fingerprint is the SHA-256 of the certificate that it served, in hexadecimal. Empty if it served none.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Fingerprint string `json:"fingerprint,omitempty"`

	// serialNumber of that, in hexadecimal.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	SerialNumber string `json:"serialNumber,omitempty"`

	// notAfter is when that expires.
	// +optional
	NotAfter *metav1.Time `json:"notAfter,omitempty"`

	// message says why it served none.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
}

// DeliveredCertificate tells of a certificate, and nothing that is secret.
type DeliveredCertificate struct {
	// issuance is the name of the Secret in the management cluster that it is from.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Issuance string `json:"issuance,omitempty"`

	// serialNumber in hexadecimal.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	SerialNumber string `json:"serialNumber,omitempty"`

	// fingerprint is the SHA-256 of the certificate, in hexadecimal.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Fingerprint string `json:"fingerprint,omitempty"`

	// notBefore is when it begins to be valid.
	// +required
	NotBefore metav1.Time `json:"notBefore,omitzero"`

	// notAfter is when it expires.
	// +required
	NotAfter metav1.Time `json:"notAfter,omitzero"`

	// chainNotAfter is when an authority above it expires, if that is earlier.
	// +optional
	ChainNotAfter *metav1.Time `json:"chainNotAfter,omitempty"`
}

// CertificateDelivery is one CertificateBundle in one cluster. Daytwo writes it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=cd,categories=daytwo-targets
// +kubebuilder:printcolumn:name="BUNDLE",type=string,JSONPath=`.metadata.labels.daytwo\.dev/policy`
// +kubebuilder:printcolumn:name="CLUSTER",type=string,JSONPath=`.spec.clusterRef.name`
// +kubebuilder:printcolumn:name="EXPIRES",type=string,JSONPath=`.status.certificate.notAfter`
// +kubebuilder:printcolumn:name="DRIFT",type=string,JSONPath=`.status.conditions[?(@.type=="Drifted")].status`
// +kubebuilder:printcolumn:name="CORRECTIONS",type=integer,priority=1,JSONPath=`.status.drift.count`
// +kubebuilder:printcolumn:name="READY",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="STATUS",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
type CertificateDelivery struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is what should be in the cluster.
	// +required
	Spec CertificateDeliverySpec `json:"spec,omitzero"`

	// status is what is there.
	// +optional
	Status CertificateDeliveryStatus `json:"status,omitzero"`
}

// CertificateDeliveryList is a list of CertificateDeliveries.
//
// +kubebuilder:object:root=true
type CertificateDeliveryList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []CertificateDelivery `json:"items"`
}
