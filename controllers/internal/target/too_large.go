package target

import (
	"fmt"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/recordable"
)

// StallAsTooLarge says, in the status as it was recorded before, that the next one would make the target so many bytes
// large, which is not stored.
func (s Status) StallAsTooLarge(o Observation, kind string, size int) {
	s.ObservedGeneration = o.target.GetGeneration()
	s.Stall(o, metav1alpha1.ReasonStatusTooLarge, fmt.Sprintf("what became of it would make this %s %d KiB large, more than the %d KiB "+
		"that are stored of one, so the inventory is as it was before; split the policy", kind, size>>10, recordable.MaxStored>>10))
}
