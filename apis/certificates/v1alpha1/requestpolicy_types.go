package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SignerDomain begins the signerName of CertificateSigningRequests that Daytwo answers; the name of the bundle follows.
const SignerDomain = "daytwo.dev/"

// RequestPolicy says what a CertificateSigningRequest may ask for, and who may. Names may hold {{ .Cluster.Name }}, as those of a
// certificate template may.
//
// +kubebuilder:validation:XValidation:rule="has(self.commonNames) || has(self.dnsNames) || has(self.ipAddresses) || has(self.uris) || has(self.emailAddresses)",message="a requestPolicy allows some name: set commonNames, dnsNames, ipAddresses, uris or emailAddresses"
type RequestPolicy struct {
	// commonNames of the subject. "*." at the beginning stands for one label. A common name that is among the other names
	// of the request needs none of them.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	CommonNames []string `json:"commonNames,omitempty"`

	// dnsNames are subject alternative names. "*." at the beginning stands for one label, the wildcard "*" among them.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	DNSNames []string `json:"dnsNames,omitempty"`

	// ipAddresses are subject alternative names: addresses, or networks such as 10.0.0.0/8.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	IPAddresses []string `json:"ipAddresses,omitempty"`

	// uris are subject alternative names. "*" between two slashes, or after the last one, stands for one segment of the path.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=512
	URIs []string `json:"uris,omitempty"`

	// emailAddresses are subject alternative names. "*@" at the beginning stands for anybody of the domain.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	EmailAddresses []string `json:"emailAddresses,omitempty"`

	// usages of the key; "digital signature", "key encipherment" and "server auth" by default.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Usages []KeyUsage `json:"usages,omitempty"`

	// maxDuration is for how long a certificate is valid at most, from 10m. A request that asks for longer, or for no
	// duration, gets that. The default is 2160h.
	// +optional
	// +default="2160h"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('10m')",message="use 10m or more"
	MaxDuration *metav1.Duration `json:"maxDuration,omitempty"`

	// keys that certificates may be for; RSA from 2048 bits, ECDSA and Ed25519 by default.
	// +optional
	// +listType=map
	// +listMapKey=algorithm
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=3
	Keys []AllowedKey `json:"keys,omitempty"`

	// requestors who may make requests, as the cluster names them; whoever the cluster lets make them by default.
	// +optional
	Requestors *Requestors `json:"requestors,omitempty"`

	// maxPending is how many requests of a cluster are with the issuer at a time. The default is 10.
	// +optional
	// +default=10
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	MaxPending int32 `json:"maxPending,omitempty"`

	// maxPerHour is how many requests of a cluster go to the issuer within an hour. The default is 60.
	// +optional
	// +default=60
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=500
	MaxPerHour int32 `json:"maxPerHour,omitempty"`
}

// AllowedKey is an algorithm of keys, and how large they are at least.
type AllowedKey struct {
	// algorithm is RSA, ECDSA or Ed25519.
	// +required
	// +kubebuilder:validation:Enum=RSA;ECDSA;Ed25519
	Algorithm string `json:"algorithm,omitempty"`

	// minSize in bits; 2048 with RSA and 256 with ECDSA by default.
	// +optional
	// +kubebuilder:validation:Minimum=256
	// +kubebuilder:validation:Maximum=8192
	MinSize int32 `json:"minSize,omitempty"`
}

// Requestors are those who may make requests: whoever is named in one of the lists. The API server of the cluster says who made a
// request.
//
// +kubebuilder:validation:XValidation:rule="has(self.usernames) || has(self.groups) || has(self.serviceAccountNamespaces)",message="set usernames, groups or serviceAccountNamespaces, or leave requestors out"
type Requestors struct {
	// usernames are compared whole.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	Usernames []string `json:"usernames,omitempty"`

	// groups are compared whole.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	Groups []string `json:"groups,omitempty"`

	// serviceAccountNamespaces are namespaces whose ServiceAccounts may make requests.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	ServiceAccountNamespaces []string `json:"serviceAccountNamespaces,omitempty"`
}

// RequestSummary tells of the CertificateSigningRequests of a bundle that a cluster has now, up to 500. Clusters remove old ones.
type RequestSummary struct {
	// pending are those that have no answer yet.
	// +required
	// +kubebuilder:validation:Minimum=0
	Pending int32 `json:"pending"`

	// issued are those that have their certificate.
	// +required
	// +kubebuilder:validation:Minimum=0
	Issued int32 `json:"issued"`

	// denied are those that were refused, and those that failed.
	// +required
	// +kubebuilder:validation:Minimum=0
	Denied int32 `json:"denied"`

	// lastDenial is the last of the refused ones.
	// +optional
	LastDenial *RequestDenial `json:"lastDenial,omitempty"`
}

// RequestDenial tells of a CertificateSigningRequest that was refused.
type RequestDenial struct {
	// name of the CertificateSigningRequest.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// message says why, and what to do.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}
