package addonrelease

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/addonrelease/helm"
	"github.com/daytwo-dev/daytwo/controllers/internal/addoncontent"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	helmrecord "github.com/daytwo-dev/daytwo/controllers/internal/helm"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// Declare implements target.DeclaredKind: it renders the revision.
func (r *Reconciler) Declare(ctx context.Context, o *observation, cluster *fleet.Cluster) ([]apply.Object, error) {
	content, err := r.content(ctx, types.NamespacedName{Namespace: o.Target.Namespace, Name: revisionOf(o)})
	if err == nil && content.Chart != nil {
		err = r.observeHistory(ctx, o, content, cluster)
	}
	if err != nil {
		return nil, verdictOfProblem(err)
	}
	rendered, err := r.rendered(ctx, o, content, cluster)
	if err != nil {
		return nil, verdictOfProblem(err)
	}
	if len(rendered.set) > apply.MaxInventory {
		return nil, tooMany("objects", len(rendered.set), apply.MaxInventory)
	}
	o.Extra.Chart = rendered.chart
	o.Unfinished = o.Unfinished && rendered.chart != nil
	return adopting(o.Target, rendered.set), nil
}

// adopting says of each object whether it is taken over from a tool. What was rendered stays as it is: it is kept.
func adopting(release *addonsv1alpha1.AddonRelease, set []apply.Object) []apply.Object {
	set = slices.Clone(set)
	for i := range set {
		set[i].AdoptBy = "spec.adopt: true"
		if release.Spec.Adopt {
			set[i].Adoption = apply.AdoptFromTools
		}
	}
	return set
}

// observeHistory looks who keeps the chart's release, and what its records say.
func (r *Reconciler) observeHistory(ctx context.Context, o *observation, content addoncontent.Content, cluster *fleet.Cluster) error {
	release := helmrecord.Release{Namespace: content.Namespace, Name: content.Chart.ReleaseName}
	owner, key := r.Room.Owner(o.Target), helm.ReleaseKey(release)
	if holder, taken := cluster.Tracker.OwnerOf(key); taken && holder != owner && cluster.Tracker.Await(owner, holder, key) {
		o.AwaitedKeys = append(o.AwaitedKeys, key)
		return &target.Verdict{Reason: metav1alpha1.ReasonConflict, Stalled: true, Message: fmt.Sprintf(
			"Helm release %s belongs to %s; set spec.source.chart.releaseName, or another namespace", release, r.Room.OwnerName(ctx, owner, holder))}
	}
	var err error
	if o.Extra.History, err = helm.ReadHistory(ctx, forHelm(o), release, cluster); err != nil {
		return err
	}
	if o.Extra.RecordGone, err = helm.ReadRecord(ctx, forHelm(o), cluster); err != nil {
		return err
	}
	if chart := forHelm(o); chart.IsSetBack() {
		beginAnew(o)
	} else if operation := chart.WithoutLostHooks(); operation != nil {
		o.Status.Helm.Operation = operation
	}
	return helm.RefuseForeign(forHelm(o), release)
}

// beginAnew takes the operation for the inputs as one that was never made.
func beginAnew(o *observation) {
	o.Status.InputsHash, o.Status.Applying = "", ""
	o.Status.Helm.Operation = nil
}

// revisionOf is the revision to work with: when the release ends, the one that is installed.
func revisionOf(o *observation) string {
	if !o.Target.DeletionTimestamp.IsZero() && o.Status.Revision != "" {
		return o.Status.Revision
	}
	return o.Target.Spec.Revision
}
