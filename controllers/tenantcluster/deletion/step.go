package deletion

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
)

// Step is what a deletion is at.
type Step struct {
	// Record of it.
	Record tenancyv1alpha1.Deletion
	// Waits says what is waited for.
	Waits string
	// WakeAt is when that may be different though nobody tells; zero for never.
	WakeAt time.Time
	// Request a backup of these.
	Request []Enrollment
	// GivenUp says what was not waited for any longer, in this step or in one that was passed just now: to be told
	// before the step is on record.
	GivenUp []GivenUp
	// DeleteCluster: Cluster API is to be asked to remove the cluster.
	DeleteCluster bool
	// Over: nothing is left but to let go.
	Over bool
}

// GivenUp is what was not waited for any longer.
type GivenUp struct {
	Step tenancyv1alpha1.DeletionStep
	Why  string
	// Lost: no final backup was made.
	Lost bool
}

// order of the steps, each with what it waits for; empty if there is nothing.
var order = []struct {
	name  tenancyv1alpha1.DeletionStep
	waits func(Situation, *Step) string
}{
	{tenancyv1alpha1.DeletionStoppingDrills, awaitDrills},
	{tenancyv1alpha1.DeletionFinalBackup, awaitBackup},
	{tenancyv1alpha1.DeletionRemovingTargets, awaitAddons},
	{tenancyv1alpha1.DeletionRemovingCluster, awaitCluster},
}

// Next says which step the deletion is at: the one on record, or the first after it that has something to wait
// for.
func Next(s Situation) Step {
	var step Step
	for i := index(s.Cluster.Status.Deletion); i < len(order); i++ {
		step.Record = s.recordOf(order[i].name)
		if step.Waits = order[i].waits(s, &step); step.Waits != "" {
			return step
		}
	}
	step.Record = s.recordOf(tenancyv1alpha1.DeletionReleasing)
	step.Over = true
	return step
}

// index of the step on record.
func index(record *tenancyv1alpha1.Deletion) int {
	if record == nil {
		return 0
	}
	for i := range order {
		if order[i].name == record.Step {
			return i
		}
	}
	return len(order)
}

// recordOf a step that goes on, or begins now.
func (s Situation) recordOf(name tenancyv1alpha1.DeletionStep) tenancyv1alpha1.Deletion {
	record := tenancyv1alpha1.Deletion{Step: name, Since: metav1.NewTime(s.Now).Rfc3339Copy()}
	if before := s.Cluster.Status.Deletion; before != nil && before.Step == name {
		record.Since = before.Since
	}
	if deadline := s.deadlineOf(name, record.Since.Time); !deadline.IsZero() {
		at := metav1.NewTime(deadline).Rfc3339Copy()
		record.Deadline = &at
	}
	return record
}

// overdue: the step has waited long enough.
func (s Situation) overdue(record tenancyv1alpha1.Deletion) bool {
	return record.Deadline != nil && !s.Unreachable.Untried && !s.Now.Before(record.Deadline.Time)
}
