package tenantcluster

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
	"github.com/daytwo-dev/daytwo/controllers/internal/plural"
)

// reasonRemaining is the reason of UnrecordedObjects.
const reasonRemaining = "Remaining"

// reportUnrecorded tells of objects that no add-on has on record. What was said before stands while the cluster does
// not answer.
func reportUnrecorded(w *writer, done result) {
	if done.link == nil || done.link.Phase != fleet.Connected {
		return
	}
	found := done.link.Unrecorded
	if found.Count == 0 {
		w.Remove(tenancyv1alpha1.ConditionUnrecordedObjects)
		return
	}
	count := plural.Of(found.Count, "object|carries|carry")
	if found.Count >= tracker.MaxUnrecorded {
		count = fmt.Sprintf("At least %d objects carry", tracker.MaxUnrecorded)
	}
	w.Set(tenancyv1alpha1.ConditionUnrecordedObjects, metav1.ConditionTrue, reasonRemaining, fmt.Sprintf(
		"%s this installation's label %s, and no add-on has them on record, as after a restore or a copy: %s. "+
			"An add-on that declares one takes it over; delete the others, or take the label off.",
		count, metav1alpha1.LabelManagedBy, found.Examples))
}
