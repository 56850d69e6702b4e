package rotation

import (
	"cmp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

// What a policy gets that does not say otherwise.
const (
	// DefaultTrustPropagation is longer than a kubelet takes to sync a mounted Secret (about two minutes) and the usual
	// intervals at which programs read files again.
	DefaultTrustPropagation = 15 * time.Minute
	// DefaultMinOverlap leaves a working day to notice what the new authority breaks.
	DefaultMinOverlap = 24 * time.Hour
)

// Spec is what a person wants of the rotation: spec.rotation of a CertificateBundle.
type Spec struct {
	// ca is a token: a rotation starts when it changes. The one that a policy is created with starts none.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	CA string `json:"ca,omitempty"`

	// age starts a rotation when the current authority is older; absent for never.
	// +optional
	Age metav1.Duration `json:"age,omitzero"`

	// trustPropagation is how long workloads take to load what is stored in their cluster, 15 minutes by default.
	// +optional
	TrustPropagation metav1.Duration `json:"trustPropagation,omitzero"`

	// minOverlap is how long the old anchor stays after the last leaf of the old authority was replaced, 24 hours by
	// default; never shorter than trustPropagation.
	// +optional
	MinOverlap metav1.Duration `json:"minOverlap,omitzero"`

	// rollback is the generation of the authority whose rotation is rolled back: next.generation in the status. It does
	// nothing to any other rotation. Removing it before Completing goes forward again.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Rollback int64 `json:"rollback,omitempty"`

	// emergencyReason says why a rotation removes the old anchor without waiting for anybody. The provider has to confirm it.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	EmergencyReason string `json:"emergencyReason,omitempty"`

	// exclude are clusters that a rotation does not wait for. They may reject leaves of others, and others theirs.
	// +optional
	// +listType=map
	// +listMapKey=cluster
	// +kubebuilder:validation:MaxItems=100
	Exclude []Exclusion `json:"exclude,omitempty"`
}

// Exclusion is a cluster that a person does not want to wait for.
type Exclusion struct {
	// cluster by its name, as namespace/name where the namespace is not the policy's own.
	// +required
	// +kubebuilder:validation:MaxLength=317
	Cluster string `json:"cluster"`

	// reason for people. An exclusion without a reason does not count.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Reason string `json:"reason"`
}

func (s *Spec) trustPropagation() time.Duration {
	return cmp.Or(s.TrustPropagation.Duration, DefaultTrustPropagation)
}

func (s *Spec) minOverlap() time.Duration {
	return max(cmp.Or(s.MinOverlap.Duration, DefaultMinOverlap), s.trustPropagation())
}

// excludes is whether a person excluded the cluster with a reason.
func (s *Spec) excludes(policyNamespace string, key rollout.ClusterKey) bool {
	for _, one := range s.Exclude {
		if one.Reason != "" && one.Cluster == displayName(policyNamespace, key) {
			return true
		}
	}
	return false
}

// displayName is how people name a cluster.
func displayName(policyNamespace string, key rollout.ClusterKey) string {
	if key.Namespace == policyNamespace {
		return key.Name
	}
	return key.Namespace + "/" + key.Name
}
