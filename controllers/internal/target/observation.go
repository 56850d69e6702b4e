package target

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// Observation is what is known of a target and of the objects that it keeps.
type Observation struct {
	apply.Observation
	Preconditions
	// Drift is what the policy wants done about drift.
	Drift *metav1alpha1.DriftPolicy
	// Inputs is the hash of everything that what is to be in the cluster is made from.
	Inputs string
	// Restored: the status that the target had is one that waited to be written.
	Restored bool
	// DesiredKnown: the desired objects are known. They are where they are needed, because something is to be written.
	DesiredKnown bool
}

// InputsHash is over everything that a target's desired objects are made from. A revision never changes, so
// its name stands for its content.
func InputsHash(target metav1alpha1.Target, installation string) string {
	spec := target.GetTargetSpec()
	inputs, err := json.Marshal([]any{spec.Revision, spec.ClusterRef, spec.Cluster, installation})
	if err != nil {
		// Strings and maps of strings always marshal.
		panic(err)
	}
	digest := sha256.Sum256(inputs)
	return hex.EncodeToString(digest[:8])
}

// DriftSettings is what the policy wants done about drift.
func (o Observation) DriftSettings() apply.Settings { return SettingsOf(*o.Drift) }

func (o Observation) isDeleted() bool { return isDeleted(o.target) }

func (o Observation) revision() string { return o.target.GetTargetSpec().Revision }
