package addonrelease

import (
	"context"
	"errors"
	"fmt"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/addonrelease/helm"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	helmrecord "github.com/daytwo-dev/daytwo/controllers/internal/helm"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
)

// Beside implements target.StagedKind: the Helm release, its record and the hooks that run.
func (r *Reconciler) Beside(status *addonsv1alpha1.AddonReleaseStatus) target.Beside {
	return helm.Beside(status.Helm)
}

// Forget implements target.StagedKind.
func (r *Reconciler) Forget(status *addonsv1alpha1.AddonReleaseStatus) { status.Helm = nil }

// Observe implements target.StagedKind: it looks at the record of the Helm release.
func (r *Reconciler) Observe(ctx context.Context, o *observation, cluster *fleet.Cluster) error {
	key, recorded := helm.RecordKey(o.Status.Helm)
	if !recorded {
		return nil
	}
	if err := cluster.Watch(ctx, helm.SecretKind); err != nil {
		return fmt.Errorf("watch the Helm release's record: %w", err)
	}
	if !o.Awaits(key.GroupKind, cluster.Tracker.Kind(key.GroupKind)) {
		o.Extra.RecordSeen, o.Extra.RecordDrifted = cluster.Tracker.Look(key)
	}
	return nil
}

// EndUndeclared implements target.StagedKind. It finds out what is needed to end a release whose chart cannot be rendered
// any more: the inventory knows its objects, the cluster its records. Only its hooks are unknown.
func (r *Reconciler) EndUndeclared(ctx context.Context, o *observation, cluster *fleet.Cluster) error {
	if !target.VerdictOfProblem(o.Problem).Stalled && !skipsDeleteHooks(o.Target) {
		return o.Problem
	}
	known := o.Status.Helm
	o.Extra.Unrendered = o.Problem
	if verdict := (*target.Verdict)(nil); errors.As(o.Problem, &verdict) && verdict.Cause != nil {
		o.Extra.Unrendered = verdict.Cause // There is no way out to tell of any more.
	}
	o.Extra.Chart = &helm.Chart{Release: helmrecord.Release{Namespace: known.Namespace, Name: known.Name}, Title: known.Chart}
	var err error
	o.Extra.History, err = helm.ReadHistory(ctx, forHelm(o), o.Extra.Chart.Release, cluster)
	return err
}
