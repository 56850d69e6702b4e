package addonrelease

import (
	"cmp"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/addonrelease/helm"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// NeedsDesired implements target.StagedKind.
func (r *Reconciler) NeedsDesired(o *observation) bool {
	return o.Extra.RecordDrifted || helm.TestsDue(testsOf(o.Target), o.Status.Helm) != ""
}

// Size implements target.StagedKind.
func (r *Reconciler) Size(o *observation) int { return o.Extra.Chart.SizeOfHooks() }

// Plan implements target.StagedKind.
func (r *Reconciler) Plan(o *observation) target.StagedPlan {
	if o.Extra.Chart == nil {
		return target.StagedPlan{}
	}
	chart := forHelm(o)
	p := target.StagedPlan{Due: true, Begins: helm.NewPlan(chart).Operation != nil, Claims: []objects.Key{helm.ReleaseKey(chart.Chart.Release)}}
	if chart.RecordDrifted && chart.RecordReady.After(o.Now) {
		p.WakeAt = chart.RecordReady
	}
	return p
}

// forHelm is what the plan for the Helm release is made from.
func forHelm(o *observation) helm.Observation {
	chart := o.Extra.Observation
	chart.Now, chart.Status, chart.RecordPending = o.Now, o.Status.Helm, o.Unfinished
	status := target.Status{TargetStatus: &o.Status.TargetStatus, ObjectsStatus: &o.Status.ObjectsStatus}
	chart.Inputs, chart.Deployed, chart.Settled = o.Inputs, o.Status.InputsHash, o.IsSettled(status) && !o.Unfinished
	chart.Deleted, chart.Suspended, chart.Requested = !o.Target.DeletionTimestamp.IsZero(), o.Suspension.Active, o.IsRequested(status)
	chart.SkipsDeleteHooks, chart.Adopts, chart.Tests = skipsDeleteHooks(o.Target), o.Target.Spec.Adopt, testsOf(o.Target)
	chart.Corrects = o.DriftSettings().Mode == apply.Correct
	if key, ok := helm.RecordKey(o.Status.Helm); ok {
		chart.RecordReady = o.Contentions[key].Ready()
	}
	return chart
}

// skipsDeleteHooks is whether a person wants a release to be removed without its hooks.
func skipsDeleteHooks(release *addonsv1alpha1.AddonRelease) bool {
	return release.Annotations[metav1alpha1.AnnotationSkipDeleteHooks] == "true"
}

// testsOf is the token of the tests that somebody asks for; empty for none.
func testsOf(release *addonsv1alpha1.AddonRelease) string {
	return cmp.Or(metav1alpha1.TestsRequested(release), release.Spec.RunTests)
}
