package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RunSpec is what every run has beside what it is to do. The definition of a kind of runs freezes the rest of the spec.
type RunSpec struct {
	// cancel ends the run: what it made in clusters is removed, and its outcome is Cancelled. It cannot be taken back.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self || !oldSelf",message="a cancelled run cannot go on: create another one"
	Cancel bool `json:"cancel,omitempty"`

	// startBy is when the run has to have started; at any time by default. One that waits for others until then makes nothing,
	// and its outcome is Cancelled.
	// +optional
	StartBy *metav1.Time `json:"startBy,omitempty"`
}

// IsLate is whether a run has not started before the time by which it had to.
func IsLate(run Run, now time.Time) bool {
	by, started := run.GetRunSpec().StartBy, run.GetRunStatus().StartedAt
	if started != nil {
		now = started.Time
	}
	return by != nil && !now.Before(by.Time)
}

// RunStatus is what every run tells.
type RunStatus struct {
	// conditions are Ready, Reconciling, Stalled, and those of the run's kind.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the generation of the spec that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// startedAt is when the run began.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`

	// clusters are the TenantClusters in which the run works, as far as they are known.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Clusters []ClusterReference `json:"clusters,omitempty"`

	// actions of the run, in the order in which they began.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Actions []Action `json:"actions,omitempty"`

	// tasks of the run, in the order in which they began.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Tasks []RunTask `json:"tasks,omitempty"`

	// outcome of the run; absent while it is under way.
	// +optional
	Outcome RunOutcome `json:"outcome,omitempty"`

	// message says more about the outcome.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	Message string `json:"message,omitempty"`

	// endedAt is when the outcome was found.
	// +optional
	EndedAt *metav1.Time `json:"endedAt,omitempty"`

	// finishedAt is when nothing was left to remove. The run works in no cluster from then on.
	// +optional
	FinishedAt *metav1.Time `json:"finishedAt,omitempty"`
}

// RunTask is the record of one task: what a run does that makes no object in a workload cluster, such as reading an archive.
type RunTask struct {
	// name tells the tasks of a run from one another.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`

	// startedAt is when the task was recorded.
	// +required
	StartedAt metav1.Time `json:"startedAt,omitzero"`

	// deadline is when the task has failed if it has not ended.
	// +required
	Deadline metav1.Time `json:"deadline,omitzero"`

	// outcome is how the task ended; absent while it is under way.
	// +optional
	Outcome ActionOutcome `json:"outcome,omitempty"`

	// message says more about the outcome.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	Message string `json:"message,omitempty"`

	// endedAt is when the outcome was found.
	// +optional
	EndedAt *metav1.Time `json:"endedAt,omitempty"`
}

// RunOutcome is how a run ended.
// +kubebuilder:validation:Enum=Succeeded;Failed;Cancelled
type RunOutcome string

// Outcomes of runs.
const (
	// RunSucceeded: the run did what it is for.
	RunSucceeded RunOutcome = "Succeeded"
	// RunFailed: it did not; the message says why.
	RunFailed RunOutcome = "Failed"
	// RunCancelled: a person, or the deletion of the run or of one of its clusters, ended it.
	RunCancelled RunOutcome = "Cancelled"
)

// ReasonCancelled of the condition Ready: a run was ended before its time.
const ReasonCancelled = "Cancelled"

// Action returns the action of a name; nil if it has not begun.
func (s *RunStatus) Action(name string) *Action {
	for i := range s.Actions {
		if s.Actions[i].Name == name {
			return &s.Actions[i]
		}
	}
	return nil
}

// Task returns the task of a name; nil if it has not begun.
func (s *RunStatus) Task(name string) *RunTask {
	for i := range s.Tasks {
		if s.Tasks[i].Name == name {
			return &s.Tasks[i]
		}
	}
	return nil
}
