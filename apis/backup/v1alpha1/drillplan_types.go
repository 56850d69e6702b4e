package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// DrillPlan makes DRDrills by schedule, one in each cluster at a time. One that was missed, or not possible, is made once as
// soon as it is.
type DrillPlan struct {
	// name of the plan in its policy.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`

	// schedule says when drills start.
	// +required
	Schedule Recurrence `json:"schedule,omitzero"`

	// share is how many percent of the policy's clusters each start rehearses, from 1 to 100. A cluster has its turn once in
	// 100/share starts, rounded up, so each of them has. The default is 100.
	// +optional
	// +default=100
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Share *int32 `json:"share,omitempty"`

	// windows are when drills may start; at any time if there are none. One whose start comes outside of them waits until the
	// next one opens. One that waits for other drills until its window closes is Skipped.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Windows []metav1alpha1.RecurringWindow `json:"windows,omitempty"`

	// historyLimit is how many DRDrills of the plan that have finished are kept of each cluster, from 1 to 100. What they
	// proved is kept. The default is 5.
	// +optional
	// +default=5
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	HistoryLimit *int32 `json:"historyLimit,omitempty"`

	DrillScope `json:",inline"`
}

// Turns is once in how many starts a cluster is rehearsed, from 1 to 100.
func (p *DrillPlan) Turns() int32 {
	const all = 100
	if p.Share == nil || *p.Share <= 0 {
		return 1
	}
	return (all + *p.Share - 1) / *p.Share
}

// DrillPlanStatus is how far a plan is in one cluster.
type DrillPlanStatus struct {
	// name of the plan.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	Name string `json:"name,omitempty"`

	// scheduledAt is the start for which a drill was made last, or since when the plan is there.
	// +required
	ScheduledAt metav1.Time `json:"scheduledAt,omitzero"`

	// drillName is the name of the DRDrill that was made last.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	DrillName string `json:"drillName,omitempty"`

	// rested is how many starts the plan has left out here since, because it was the turn of other clusters.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Rested int32 `json:"rested,omitempty"`

	// next is when the next one starts, or waits for a window.
	// +optional
	Next *metav1.Time `json:"next,omitempty"`
}
