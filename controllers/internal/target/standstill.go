package target

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/standstill"
	"github.com/daytwo-dev/daytwo/controllers/internal/times"
)

// lookAtPods finds out why the first unhealthy object of a target stays so, where it has been for a while. The status is the
// one before.
func (s *Shown) lookAtPods(ctx context.Context, o Observation, status Status, memory *standstill.Memory, cluster *fleet.Cluster) {
	worst := firstUnhealthy(o.Inventory, s.Health)
	if worst == nil || cluster == nil || o.isDeleted() {
		memory.Forget()
		return
	}
	found := standstill.Unhealthy{Object: worst.Ref, Inputs: o.Inputs}
	if healthy := meta.FindStatusCondition(status.Conditions, metav1alpha1.ConditionHealthy); healthy != nil && healthy.Status == metav1.ConditionFalse {
		found.Since = healthy.LastTransitionTime.Time
	}
	var again time.Time
	s.standstill, again = memory.Look(ctx, cluster, found, standstill.DefaultPatience, o.Now)
	s.lookAt = times.Earliest(s.lookAt, again)
}
