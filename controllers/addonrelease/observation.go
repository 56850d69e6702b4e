package addonrelease

import (
	"time"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/addonrelease/helm"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// observation is all that a plan and a report are made from.
type observation struct {
	target.Observation
	// helm is what is known of the Helm release, if the source is a chart.
	helm helm.Observation

	// release as it was read. It is never changed.
	release *addonsv1alpha1.AddonRelease
	// status is what is known of the release so far: what its status says, or what waits to be written there, without
	// what does not hold in the cluster as it is now.
	status addonsv1alpha1.AddonReleaseStatus
	// replaced is what the release has in another cluster, in whose place the provider accepted this one.
	replaced tenancyv1alpha1.OrphanRecordSpec
	// problem is why desired is not known although it is needed.
	problem error
}

// objects is what the plan for the release's objects is made from.
func (o observation) objects() apply.Observation {
	return o.Objects(statusOf(&o.status))
}

// forHelm is what the plan for the Helm release is made from.
func (o observation) forHelm() helm.Observation {
	chart := o.helm
	chart.Now, chart.Status = o.Now, o.status.Helm
	chart.Inputs, chart.Deployed, chart.Settled = o.Inputs, o.status.InputsHash, o.settled()
	chart.Deleted, chart.Suspended, chart.Requested = !o.release.DeletionTimestamp.IsZero(), o.Suspension.Active, o.requested()
	chart.SkipsDeleteHooks, chart.Adopts = skipsDeleteHooks(o.release), o.release.Spec.Adopt
	chart.Corrects, chart.RecordReady = o.DriftSettings().Mode == apply.Correct, o.recordReady()
	return chart
}

// recordReady is when the next correction of the Helm release's record may be made; it may be in the past.
func (o observation) recordReady() time.Time {
	key, ok := helm.RecordKey(o.status.Helm)
	if !ok {
		return time.Time{}
	}
	return o.Contentions[key].Ready()
}

func (o observation) requested() bool { return o.IsRequested(statusOf(&o.status)) }

// settled: what is to be in the cluster was applied completely, and nothing else was begun since.
func (o observation) settled() bool {
	return o.IsSettled(statusOf(&o.status)) && !o.helm.RecordPending
}

// needsDesired: the release is to be written, or something in it.
func (o observation) needsDesired() bool {
	if !o.IsReachable() {
		return false
	}
	if !o.release.DeletionTimestamp.IsZero() {
		return o.status.Helm != nil && !target.IsOrphaned(o.release) && !o.AwaitsBackup()
	}
	return o.NeedsDesired(statusOf(&o.status)) ||
		o.helm.RecordPending || o.helm.RecordDrifted || helm.TestsDue(o.helm.Tests, o.status.Helm) != ""
}

// skipsDeleteHooks is whether a person wants a release to be removed without its hooks.
func skipsDeleteHooks(release *addonsv1alpha1.AddonRelease) bool {
	return release.Annotations[metav1alpha1.AnnotationSkipDeleteHooks] == "true"
}

// moveFrom forgets what is in another cluster, in whose place the provider accepted this one: it is not in this one.
// It is recorded before, so that it is swept if that cluster is ever registered again.
func (o *observation) moveFrom(before string) {
	left := o.leftovers()
	left.ClusterID = before
	o.replaced = o.Replaced(left)
	o.Inventory = apply.Inventory{}
	o.status.InputsHash, o.status.Applying, o.status.Revision = "", "", ""
	o.status.Helm = nil
}

// leftovers are what is in the cluster because of the release: its inventory, and the record of its Helm release.
func (o observation) leftovers() target.Leftovers {
	left := target.Leftovers{ClusterID: o.status.ClusterID, Inventory: o.Inventory}
	if helm := o.status.Helm; helm != nil && helm.Record != nil {
		left.More = append(left.More, tenancyv1alpha1.OrphanObject{ID: helm.Record.ID, UID: helm.Record.UID})
	}
	return left
}

// isAbandonable is whether a deleted release goes without removing what it applied.
func (o observation) isAbandonable() bool { return o.IsAbandonable(len(o.External()) > 0) }
