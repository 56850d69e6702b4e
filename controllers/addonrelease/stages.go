package addonrelease

import (
	"context"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/addonrelease/helm"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// Stages implements target.StagedKind.
func (r *Reconciler) Stages(o *observation, p target.StagedPlan, cluster *fleet.Cluster, journal *journal) apply.Stages {
	if o.Extra.Chart == nil {
		return apply.NoStages{}
	}
	chart, plan := forHelm(o), helm.Plan{}
	if p.Due {
		plan = helm.MakePlan(chart)
	}
	o.Extra.stages = helm.NewStages(helm.Target{
		Cluster: cluster, Owner: r.Room.Owner(o.Target), HolderName: r.Room.HolderName, Journal: helmJournal{journal}, Renderings: r.renderings(o.Target),
		Rules: r.Rules, Installation: r.Installation, Clock: r.Clock,
	}, chart, plan, o.Lists())
	intended := o.Extra.stages.Intended
	journal.Extend = func(status *addonsv1alpha1.AddonReleaseStatus) { status.Helm = intended().DeepCopy() }
	return o.Extra.stages
}

type journal = target.Journal[*addonsv1alpha1.AddonRelease, addonsv1alpha1.AddonReleaseStatus]

// helmJournal keeps in a release's status what is about to be done to its Helm release, before it is.
type helmJournal struct{ *journal }

// Store implements helm.Journal.
func (j helmJournal) Store(ctx context.Context, helm *addonsv1alpha1.HelmRelease) error {
	j.Status.Helm, j.Status.ClusterID = helm.DeepCopy(), j.ClusterID
	return j.Writer.Record(ctx, j.Status)
}

// Confirm implements helm.Journal.
func (j helmJournal) Confirm(ctx context.Context) error { return j.Writer.Confirm(ctx, j.Status) }
