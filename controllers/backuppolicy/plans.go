package backuppolicy

import (
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/assertion"
	"github.com/daytwo-dev/daytwo/controllers/internal/maintenance"
	"github.com/daytwo-dev/daytwo/controllers/internal/schedule"
)

// checkPlans returns what is wrong with the plans for drills; nil for nothing. One of them has to come often enough for the
// objective.
func checkPlans(plans []backupv1alpha1.DrillPlan, maxAge *metav1.Duration) *Problem {
	var often time.Duration
	for i := range plans {
		plan, field := &plans[i], fmt.Sprintf("spec.drills[%d]", i)
		starts, refused := schedule.Parse(plan.Schedule.Cron, plan.Schedule.TimeZone)
		if refused != nil {
			name := "cron"
			if refused.Field == schedule.FieldTimeZone {
				name = "timeZone"
			}
			return &Problem{field + ".schedule." + name, refused.Err.Error()}
		}
		_, err := maintenance.Parse(field+".windows", plan.Windows)
		if refused := (*schedule.FieldError)(nil); errors.As(err, &refused) {
			return &Problem{refused.Field, refused.Err.Error()}
		}
		for j, one := range plan.Verify.Assertions {
			if _, err := assertion.Compile(one.Expression); err != nil {
				return &Problem{fmt.Sprintf("%s.verify.assertions[%d].expression", field, j), err.Error()}
			}
		}
		if every := starts.LongestInterval() * time.Duration(plan.Turns()); often == 0 || every < often {
			often = every
		}
	}
	if maxAge != nil && often > maxAge.Duration {
		return &Problem{"spec.drills", fmt.Sprintf("no plan rehearses each cluster within spec.objectives.maxDrillAge (%s): the one that comes most often has a cluster's turn every %s; start it more often, or raise its share", maxAge.Duration, often)}
	}
	return nil
}
