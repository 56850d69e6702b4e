package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

	// historyLimit is how many DRDrills of the plan that have finished are kept of each cluster, from 1 to 100. What they
	// proved is kept.
	// +optional
	// +default=5
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	HistoryLimit *int32 `json:"historyLimit,omitempty"`

	DrillScope `json:",inline"`
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

	// next is when the next one starts.
	// +optional
	Next *metav1.Time `json:"next,omitempty"`
}
