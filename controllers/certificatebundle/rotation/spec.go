package rotation

import (
	"cmp"
	"time"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"

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

// The parts of the API that the plan is made from, and that it comes to.
type (
	// Spec is what a person wants: spec.rotation of a CertificateBundle.
	Spec = certificatesv1alpha1.RotationSpec
	// Exclusion is a cluster that a person does not want to wait for.
	Exclusion = certificatesv1alpha1.RotationExclusion
	// Record is what a policy's status remembers of the rotation.
	Record = certificatesv1alpha1.RotationRecord
	// Phase is how far a rotation is.
	Phase = certificatesv1alpha1.RotationPhase
	// Reference names an authority.
	Reference = certificatesv1alpha1.AuthorityReference
	// Members refers to a Membership, which is stored beside the policy.
	Members = certificatesv1alpha1.RotationMembers
	// Acknowledgement is what a target read back in its cluster.
	Acknowledgement = certificatesv1alpha1.AuthorityAcknowledgement
	// Blocker is what the next step waits for.
	Blocker = certificatesv1alpha1.RotationBlocker
)

// Phases of a rotation, in their order.
const (
	Idle       = certificatesv1alpha1.RotationIdle
	Preparing  = certificatesv1alpha1.RotationPreparing
	Prepared   = certificatesv1alpha1.RotationPrepared
	Switching  = certificatesv1alpha1.RotationSwitching
	Switched   = certificatesv1alpha1.RotationSwitched
	Completing = certificatesv1alpha1.RotationCompleting
)

func trustPropagation(s *Spec) time.Duration {
	return cmp.Or(s.TrustPropagation.Duration, DefaultTrustPropagation)
}

func minOverlap(s *Spec) time.Duration {
	return max(cmp.Or(s.MinOverlap.Duration, DefaultMinOverlap), trustPropagation(s))
}

// excludes is whether a person excluded the cluster with a reason.
func excludes(s *Spec, policyNamespace string, key rollout.ClusterKey) bool {
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
