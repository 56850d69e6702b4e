package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// Recurrence says when something starts, again and again, in each cluster.
type Recurrence struct {
	// cron expression of five fields, or a shorthand such as @daily.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Cron string `json:"cron,omitempty"`

	// timeZone of the expression, by its IANA name, as in "Europe/Berlin"; UTC by default.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	TimeZone string `json:"timeZone,omitempty"`

	// spread is over how long the starts of clusters are distributed, so that they do not all begin at once: each begins
	// later than the expression says by an offset of whole minutes that stays the same. From 0 to 24h. The default is 30m.
	// +optional
	// +default="30m"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s') && duration(self) <= duration('24h')",message="spread is from 0s to 24h"
	Spread *metav1.Duration `json:"spread,omitempty"`
}

// StartRules say which starts of a schedule are left out, and which are caught up.
type StartRules struct {
	// blackouts are windows that recur, in which no backup starts by schedule. A start that falls into one is left out. Who
	// asks for a backup with daytwo.dev/backup-now gets it all the same.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Blackouts []metav1alpha1.RecurringWindow `json:"blackouts,omitempty"`

	// catchUp has Daytwo make a backup in the place of one that was to start by schedule and failed, or was missed: one for
	// each start, and of several starts for the last one. A start that fell into a blackout was not missed.
	// The default is true.
	// +optional
	// +default=true
	CatchUp *bool `json:"catchUp,omitempty"`

	// startingDeadline is how long after a start its backup may be caught up, from 5m to 24h. The default is 4h.
	// +optional
	// +default="4h"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('5m') && duration(self) <= duration('24h')",message="startingDeadline is from 5m to 24h"
	StartingDeadline *metav1.Duration `json:"startingDeadline,omitempty"`
}
