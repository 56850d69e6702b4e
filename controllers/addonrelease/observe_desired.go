package addonrelease

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/addonrelease/helm"
	"github.com/daytwo-dev/daytwo/controllers/internal/addoncontent"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	helmrecord "github.com/daytwo-dev/daytwo/controllers/internal/helm"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// observeDesired renders the revision, and looks who else claims what is in it.
func (r *Reconciler) observeDesired(ctx context.Context, o *observation, cluster *fleet.Cluster) error {
	content, err := r.content(ctx, types.NamespacedName{Namespace: o.release.Namespace, Name: revisionOf(*o)})
	if err != nil {
		return err
	}
	if content.Chart != nil {
		if err := r.observeHistory(ctx, o, content, cluster); err != nil {
			return err
		}
	}
	rendered, err := r.rendered(ctx, *o, content, cluster)
	if err != nil {
		return err
	}
	list := rendered.set
	if len(list) > apply.MaxInventory {
		return &tooManyError{what: "objects", count: len(list), most: apply.MaxInventory}
	}
	o.Desired, o.helm.Chart = list, rendered.chart
	o.helm.RecordPending = o.helm.RecordPending && rendered.chart != nil
	if err := checkRecordable(*o); err != nil {
		return err
	}
	o.DesiredKnown = true
	r.room.ObserveHolders(ctx, &o.Observation, cluster.Tracker, o.release)
	return nil
}

// observeHistory looks who keeps the chart's release, and what its records say.
func (r *Reconciler) observeHistory(ctx context.Context, o *observation, content addoncontent.Content, cluster *fleet.Cluster) error {
	release := helmrecord.Release{Namespace: content.Namespace, Name: content.Chart.ReleaseName}
	if holder, taken := cluster.Tracker.Holder(helm.ReleaseKey(release)); taken && holder != r.room.Owner(o.release) {
		return &sharedReleaseError{release: release, holder: r.room.HolderName(ctx, holder)}
	}
	var err error
	if o.helm.History, err = helm.ReadHistory(ctx, o.forHelm(), release, cluster); err != nil {
		return err
	}
	if o.forHelm().IsSetBack() {
		o.beginAnew()
	}
	return helm.RefuseForeign(o.forHelm(), release)
}

// beginAnew takes the operation for the inputs as one that was never made.
func (o *observation) beginAnew() {
	o.status.InputsHash, o.status.Applying = "", ""
	o.status.Helm = o.status.Helm.DeepCopy()
	o.status.Helm.Operation = nil
}

// sharedReleaseError is a Helm release that another target keeps.
type sharedReleaseError struct {
	release helmrecord.Release
	holder  string
}

func (e *sharedReleaseError) Error() string {
	return fmt.Sprintf("Helm release %s belongs to %s; set spec.source.chart.releaseName, or another namespace", e.release, e.holder)
}

// tooManyError is an add-on that is larger than one may be.
type tooManyError struct {
	what        string
	count, most int
}

func (e *tooManyError) Error() string {
	return fmt.Sprintf("the add-on has %d %s, more than the %d that one may have; split it", e.count, e.what, e.most)
}

// revisionOf is the revision to work with: when the release ends, the one that is installed.
func revisionOf(o observation) string {
	if !o.release.DeletionTimestamp.IsZero() && o.status.Revision != "" {
		return o.status.Revision
	}
	return o.release.Spec.Revision
}

// inputsOf are the inputs of what is to be in the cluster; when the release ends, of what is there.
func (r *Reconciler) inputsOf(release *addonsv1alpha1.AddonRelease, status addonsv1alpha1.AddonReleaseStatus) string {
	if !release.DeletionTimestamp.IsZero() && status.InputsHash != "" {
		return status.InputsHash
	}
	return target.InputsHash(release, r.Installation)
}
