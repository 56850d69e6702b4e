package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// Condition types of a CertificateBundle and of a CertificateDelivery, beside the common ones.
const (
	// ConditionIssued: every cluster of the bundle has a certificate that is as the bundle asks for. Of a CertificateBundle.
	ConditionIssued = "Issued"
	// ConditionDistributed: the certificate was read back from the cluster as it was issued.
	ConditionDistributed = "Distributed"
	// ConditionTrustDistributed: the trust anchors were read back from the cluster as they are in the revision.
	ConditionTrustDistributed = "TrustDistributed"
	// ConditionExpiringSoon: what is in the cluster expires soon, or has expired.
	ConditionExpiringSoon = "ExpiringSoon"
	// ConditionCARotating: the bundle's authority is being replaced. The reason is the phase. Of a CertificateBundle with spec.ca.
	ConditionCARotating = "CARotating"
	// ConditionDegraded: something is lost, or was overridden, that the rotation of the authority relies on. Of a
	// CertificateBundle with spec.ca.
	ConditionDegraded = "Degraded"
	// ConditionRequestsServed: the CertificateSigningRequests in the cluster are looked at, and answered as requestPolicy says.
	ConditionRequestsServed = "RequestsServed"
	// ConditionReloadComplete: the workloads that use what was delivered have been restarted since, and what the probe connects
	// to serves the certificate. Absent where neither is asked for.
	ConditionReloadComplete = "ReloadComplete"
)

// Reasons of these conditions, beside the common ones.
const (
	// ReasonIssued: all certificates are issued, and checked.
	ReasonIssued = "Issued"
	// ReasonIssuancePending: a certificate is awaited from its issuer.
	ReasonIssuancePending = "IssuancePending"
	// ReasonIssuanceFailed: cert-manager says that a certificate cannot be issued; the message is cert-manager's.
	ReasonIssuanceFailed = "IssuanceFailed"
	// ReasonCertificateRefused: what was issued is not what was asked for; the message says why. What is in the clusters stays.
	ReasonCertificateRefused = "CertificateRefused"
	// ReasonCertManagerUnavailable: cert-manager is not installed in the management cluster.
	ReasonCertManagerUnavailable = "CertManagerUnavailable"
	// ReasonIssuerNotAllowed: the bundle's namespace may not use the issuer.
	ReasonIssuerNotAllowed = "IssuerNotAllowed"
	// ReasonIssuanceNotFound: the Secret with an issued certificate is gone, or not whole.
	ReasonIssuanceNotFound = "IssuanceNotFound"
	// ReasonNotDistributed: it was not read back yet, or not as it should be.
	ReasonNotDistributed = "NotDistributed"
	// ReasonDistributed: it was read back as it should be.
	ReasonDistributed = "Distributed"
	// ReasonNoTrust: the bundle has no trust anchors.
	ReasonNoTrust = "NoTrust"
	// ReasonNoCertificate: the bundle has no certificates.
	ReasonNoCertificate = "NoCertificate"
	// ReasonTrustInvalid: a source of trust anchors cannot be used; the message names it.
	ReasonTrustInvalid = "TrustInvalid"
	// ReasonExpired: it has expired.
	ReasonExpired = "Expired"
	// ReasonExpiringSoon: it expires soon.
	ReasonExpiringSoon = "ExpiringSoon"
	// ReasonValid: it does not expire soon.
	ReasonValid = "Valid"
	// ReasonNamespacesUnavailable: the cluster refuses to list or watch its namespaces.
	ReasonNamespacesUnavailable = "NamespacesUnavailable"
	// ReasonIntact: nothing is lost.
	ReasonIntact = "Intact"
	// ReasonTooManyNamespaces: a namespaceSelector selects more than 500 namespaces of a cluster.
	ReasonTooManyNamespaces = "TooManyNamespaces"
	// ReasonServed: requests are answered as they come.
	ReasonServed = "Served"
	// ReasonRequestsUnavailable: the cluster refuses to list or watch its CertificateSigningRequests.
	ReasonRequestsUnavailable = "RequestsUnavailable"
	// ReasonTooManyRequests: the cluster has more open requests than are looked at, 500, or larger ones.
	ReasonTooManyRequests = "TooManyRequests"
	// ReasonRequestsLimited: requests wait, because maxPending or maxPerHour of requestPolicy is reached.
	ReasonRequestsLimited = "RequestsLimited"
	// ReasonSignerTaken: the provider has a bundle of that name in mode Relay in the cluster.
	ReasonSignerTaken = "SignerTaken"
	// ReasonReloaded: everything that is asked for has loaded what was delivered.
	ReasonReloaded = "Reloaded"
	// ReasonRestarting: workloads are being restarted; the message names them.
	ReasonRestarting = "Restarting"
	// ReasonRestartRefused: a workload cannot be restarted, or cannot be told to be; the message names it and says why.
	ReasonRestartRefused = "RestartRefused"
	// ReasonCertificateNotServed: the server that is probed serves another certificate than the one that was delivered.
	ReasonCertificateNotServed = "CertificateNotServed"
	// ReasonProbeFailed: the server that is probed does not answer, or may not be connected to.
	ReasonProbeFailed = "ProbeFailed"
	// ReasonProbePending: the server was not probed since the certificate was delivered.
	ReasonProbePending = "ProbePending"
)

// BundleMode says where certificates come from.
//
// +kubebuilder:validation:Enum=Distribute;Relay;TrustOnly
type BundleMode string

// Modes.
const (
	// ModeDistribute has certificates issued in the management cluster and pushed into the clusters.
	ModeDistribute BundleMode = "Distribute"
	// ModeRelay answers CertificateSigningRequests that somebody makes in the clusters, where the keys stay.
	ModeRelay BundleMode = "Relay"
	// ModeTrustOnly pushes trust anchors and no certificates.
	ModeTrustOnly BundleMode = "TrustOnly"
)

// CertificateBundleSpec says which certificates and trust anchors are in which clusters.
//
// +kubebuilder:validation:XValidation:rule="self.mode in ['Relay', 'TrustOnly'] || has(self.certificate) && has(self.targets) && has(self.issuerRef) != has(self.ca)",message="mode Distribute needs certificate, targets, and one of issuerRef and ca; use mode TrustOnly for trust anchors alone"
// +kubebuilder:validation:XValidation:rule="self.mode != 'TrustOnly' || !has(self.certificate) && !has(self.issuerRef) && !has(self.ca) && !has(self.targets) && !has(self.rollbackTo)",message="mode TrustOnly issues no certificate: remove certificate, issuerRef, ca, targets and rollbackTo, or use mode Distribute"
// +kubebuilder:validation:XValidation:rule="has(self.ca) == has(oldSelf.ca)",message="ca cannot be added or removed: create another bundle"
// +kubebuilder:validation:XValidation:rule="!has(self.ca) || !(has(self.sharedKey) && self.sharedKey) && !has(self.rollbackTo)",message="with ca each cluster has a certificate of its own, and goes back to none of another authority: remove sharedKey and rollbackTo"
// +kubebuilder:validation:XValidation:rule="!has(self.ca) || has(self.trust) || self.targets.exists(t, has(t.includeCA) && t.includeCA)",message="nobody would trust what ca issues: add trust, or includeCA to a target"
// +kubebuilder:validation:XValidation:rule="has(self.ca) || !has(self.rotation)",message="rotation replaces the authority of ca: add ca, or remove rotation"
// +kubebuilder:validation:XValidation:rule="!has(self.trust) || has(self.trust.sources) || has(self.ca) || has(self.trust.defaultCAs) && self.trust.defaultCAs",message="trust needs sources, or defaultCAs, or the authority of ca"
// +kubebuilder:validation:XValidation:rule="self.mode != 'TrustOnly' || has(self.trust)",message="mode TrustOnly needs trust"
// +kubebuilder:validation:XValidation:rule="self.mode != 'Relay' || has(self.issuerRef)",message="mode Relay needs issuerRef"
// +kubebuilder:validation:XValidation:rule="(self.mode == 'Relay') == has(self.requestPolicy)",message="mode Relay needs requestPolicy, and no other mode has it"
// +kubebuilder:validation:XValidation:rule="self.mode != 'Relay' || !has(self.certificate) && !has(self.ca) && !has(self.targets) && !has(self.rollbackTo) && (!has(self.sharedKey) || !self.sharedKey)",message="mode Relay makes no key: remove certificate, targets, sharedKey and rollbackTo, or use mode Distribute"
// +kubebuilder:validation:XValidation:rule="!has(self.probe) || has(self.certificate)",message="probe looks for a certificate, and the bundle has none: remove probe, or use mode Distribute"
// +kubebuilder:validation:XValidation:rule="self.mode == oldSelf.mode",message="mode is immutable: create another bundle"
type CertificateBundleSpec struct {
	metav1alpha1.PolicySpec `json:",inline"`

	// mode is Distribute, Relay or TrustOnly. The default is Distribute.
	// +optional
	// +default="Distribute"
	Mode BundleMode `json:"mode,omitempty"`

	// certificate that each cluster gets.
	// +optional
	Certificate *CertificateTemplate `json:"certificate,omitempty"`

	// sharedKey gives all clusters one certificate with one key, which whoever is cluster-admin in one of them can read. By
	// default each has its own.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="sharedKey is immutable: create another bundle"
	SharedKey bool `json:"sharedKey,omitempty"`

	// issuerRef names the issuer of cert-manager, in the management cluster; there is none with ca.
	// +optional
	IssuerRef *IssuerReference `json:"issuerRef,omitempty"`

	// ca is an authority of the bundle's own that issues its certificates, instead of issuerRef.
	// +optional
	CA *ManagedAuthority `json:"ca,omitempty"`

	// rotation says when the authority is replaced, and how.
	// +optional
	Rotation *RotationSpec `json:"rotation,omitempty"`

	// requestPolicy says which CertificateSigningRequests with the signer daytwo.dev/<name of the bundle> are answered, in mode
	// Relay.
	// +optional
	RequestPolicy *RequestPolicy `json:"requestPolicy,omitempty"`

	// targets are the Secrets that hold the certificate in a cluster.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Targets []SecretTarget `json:"targets,omitempty"`

	// trust says which trust anchors are where in a cluster.
	// +optional
	Trust *Trust `json:"trust,omitempty"`

	// historyLimit is how many issuances of a cluster are kept, the one in use among them. The default is 3.
	// +optional
	// +default=3
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	HistoryLimit int32 `json:"historyLimit,omitempty"`

	// rollbackTo names issuances that are kept: the cluster of each goes back to it, and gets no newer one, for as long as it is
	// named and has not expired.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	RollbackTo []string `json:"rollbackTo,omitempty"`

	// probe connects to a TLS server of each cluster, and compares the certificate that it serves with the one that was
	// delivered.
	// +optional
	Probe *Probe `json:"probe,omitempty"`

	// drift says what happens when somebody else changes what Daytwo delivered.
	// +optional
	// +default={}
	Drift metav1alpha1.DriftPolicy `json:"drift,omitzero"` //nolint:kubeapilinter // A struct of another package: omitzero is what omits it.
}

// CertificateTemplate is a certificate as it is asked for. Names may hold {{ .Cluster.Name }}, {{ .Cluster.Namespace }},
// {{ .Cluster.Version }} and {{ .Cluster.Labels.key }}.
//
// +kubebuilder:validation:XValidation:rule="has(self.commonName) || has(self.dnsNames) || has(self.ipAddresses) || has(self.uris) || has(self.emailAddresses)",message="a certificate needs a name: set commonName, dnsNames, ipAddresses, uris or emailAddresses"
// +kubebuilder:validation:XValidation:rule="!has(self.renewBefore) || !has(self.duration) || duration(self.renewBefore) < duration(self.duration)",message="renewBefore has to be shorter than duration"
type CertificateTemplate struct {
	// commonName of the subject.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	CommonName string `json:"commonName,omitempty"`

	// dnsNames are subject alternative names; "*." may begin one.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	DNSNames []string `json:"dnsNames,omitempty"`

	// ipAddresses are subject alternative names.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	IPAddresses []string `json:"ipAddresses,omitempty"`

	// uris are subject alternative names.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=512
	URIs []string `json:"uris,omitempty"`

	// emailAddresses are subject alternative names.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	EmailAddresses []string `json:"emailAddresses,omitempty"`

	// usages of the key, in cert-manager's words; "digital signature", "key encipherment" and "server auth" by default.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Usages []KeyUsage `json:"usages,omitempty"`

	// duration for which a certificate is valid, from 1h. The default is 2160h.
	// +optional
	// +default="2160h"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1h')",message="use 1h or more"
	Duration *metav1.Duration `json:"duration,omitempty"`

	// renewBefore is how long before its end a certificate is renewed at the latest, from 5m; a third of duration by default.
	// Clusters renew earlier than that by up to a tenth of what is left of duration, each at a time of its own.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('5m')",message="use 5m or more"
	RenewBefore *metav1.Duration `json:"renewBefore,omitempty"`

	// privateKey that a certificate has.
	// +optional
	// +default={}
	PrivateKey PrivateKeyTemplate `json:"privateKey,omitzero"` //nolint:kubeapilinter // A struct without required fields: omitzero is what omits it.
}

// KeyUsage is what a key may be used for.
//
// +kubebuilder:validation:Enum="digital signature";"key encipherment";"key agreement";"data encipherment";"content commitment";"server auth";"client auth";"code signing";"email protection"
type KeyUsage string

// PrivateKeyTemplate says which private key a certificate has.
//
// +kubebuilder:validation:XValidation:rule="!has(self.size) || !has(self.algorithm) || (self.algorithm == 'RSA' && self.size in [2048, 3072, 4096]) || (self.algorithm == 'ECDSA' && self.size in [256, 384, 521])",message="size is 2048, 3072 or 4096 with RSA, 256, 384 or 521 with ECDSA, and nothing with Ed25519"
type PrivateKeyTemplate struct {
	// algorithm is RSA, ECDSA or Ed25519. The default is ECDSA.
	// +optional
	// +default="ECDSA"
	// +kubebuilder:validation:Enum=RSA;ECDSA;Ed25519
	Algorithm string `json:"algorithm,omitempty"`

	// size in bits; 2048 with RSA and 256 with ECDSA by default.
	// +optional
	// +kubebuilder:validation:Minimum=256
	// +kubebuilder:validation:Maximum=4096
	Size int32 `json:"size,omitempty"`

	// rotationPolicy is Always for a new key with each certificate, or Never. The default is Always.
	// +optional
	// +default="Always"
	// +kubebuilder:validation:Enum=Always;Never
	RotationPolicy string `json:"rotationPolicy,omitempty"`
}

// IssuerReference names an issuer of cert-manager.
type IssuerReference struct {
	// kind is Issuer, in the bundle's namespace, or ClusterIssuer. Customers may use the ClusterIssuers that the manager was
	// started with. The default is Issuer.
	// +optional
	// +default="Issuer"
	// +kubebuilder:validation:Enum=Issuer;ClusterIssuer
	Kind string `json:"kind,omitempty"`

	// name of the issuer.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}

// CertificateBundleStatus sums up the certificates of a bundle in its clusters.
type CertificateBundleStatus struct {
	metav1alpha1.PolicyStatus `json:",inline"`

	// readyClusters is how many of the selected clusters are ready, as in "48/50".
	// +optional
	// +kubebuilder:validation:MaxLength=32
	ReadyClusters string `json:"readyClusters,omitempty"`

	// expires is when the first of what is in the clusters expires: a certificate, or a trust anchor of a bundle that has no
	// certificates.
	// +optional
	Expires *metav1.Time `json:"expires,omitempty"`

	// rotation is how far the replacement of the bundle's own authority is.
	// +optional
	Rotation *RotationStatus `json:"rotation,omitempty"`

	// anchors are the trust anchors of the current revision.
	// +optional
	Anchors *AnchorSummary `json:"anchors,omitempty"`
}

// AnchorSummary tells of a set of trust anchors.
type AnchorSummary struct {
	// count of certificates.
	// +required
	// +kubebuilder:validation:Minimum=0
	Count int32 `json:"count"`

	// hash of all of them, 16 hex digits.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Hash string `json:"hash,omitempty"`

	// expires is when the first of them does.
	// +optional
	Expires *metav1.Time `json:"expires,omitempty"`

	// leftOut names up to ten certificates of the sources that are not among them, and says why.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	// +kubebuilder:validation:items:MaxLength=512
	LeftOut []string `json:"leftOut,omitempty"`
}

// CertificateBundle keeps certificates and trust anchors in every selected cluster.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="metadata.name must be at most 63 characters: it is used as a label value"
// +kubebuilder:resource:shortName=cb,categories=daytwo
// +kubebuilder:printcolumn:name="MODE",type=string,JSONPath=`.spec.mode`
// +kubebuilder:printcolumn:name="CLUSTERS",type=string,JSONPath=`.status.readyClusters`
// +kubebuilder:printcolumn:name="EXPIRES",type=string,JSONPath=`.status.expires`
// +kubebuilder:printcolumn:name="CA GEN",type=integer,JSONPath=`.status.rotation.current.generation`
// +kubebuilder:printcolumn:name="READY",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="STATUS",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
type CertificateBundle struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is what the bundle should do.
	// +required
	Spec CertificateBundleSpec `json:"spec,omitzero"`

	// status is what it does.
	// +optional
	Status CertificateBundleStatus `json:"status,omitzero"`
}

// CertificateBundleList is a list of CertificateBundles.
//
// +kubebuilder:object:root=true
type CertificateBundleList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []CertificateBundle `json:"items"`
}
