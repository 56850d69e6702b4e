package target

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/conditions"
)

// Status is the part of a target's status that every kind has, in the making.
type Status struct {
	*metav1alpha1.TargetStatus
	*metav1alpha1.ObjectsStatus
}

// list is the conditions, as of the generation and the time that were observed.
func (s Status) list(o Observation) conditions.List {
	return conditions.List{Conditions: &s.Conditions, Generation: o.target.GetGeneration(), Now: o.Now}
}

func (s Status) set(o Observation, condition string, is metav1.ConditionStatus, reason, message string) {
	s.list(o).Set(condition, is, reason, message)
}

func (s Status) unset(condition string) { meta.RemoveStatusCondition(&s.Conditions, condition) }

// progress says that the target is not ready, and that work is under way.
func (s Status) progress(o Observation, reason, message string) {
	s.set(o, metav1alpha1.ConditionReady, metav1.ConditionFalse, reason, message)
	s.set(o, metav1alpha1.ConditionReconciling, metav1.ConditionTrue, reason, message)
}

// Stall says that nothing goes on until a person changes something.
func (s Status) Stall(o Observation, reason, message string) {
	s.unset(metav1alpha1.ConditionReconciling)
	for _, condition := range []string{metav1alpha1.ConditionReady, metav1alpha1.ConditionApplied} {
		s.set(o, condition, metav1.ConditionFalse, reason, message)
	}
	s.set(o, metav1alpha1.ConditionStalled, metav1.ConditionTrue, reason, message)
}
