package addonrelease

import (
	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/addonrelease/helm"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// Stages implements target.StagedKind.
func (r *Reconciler) Stages(o *observation, p target.StagedPlan, cluster *fleet.Cluster, journal *helm.Journal) apply.Stages {
	if o.Extra.Chart == nil {
		return apply.NoStages{}
	}
	chart, plan := forHelm(o), helm.Plan{}
	if p.Due {
		plan = helm.NewPlan(chart)
	}
	o.Extra.stages = helm.NewStages(helm.Target{
		Cluster: cluster, Owner: r.Room.Owner(o.Target), OwnerName: r.Room.OwnerName, Journal: journal, Renderings: r.renderings(o.Target),
		Rules: r.Rules, Installation: r.Installation, Clock: r.Clock,
	}, chart, plan, o.Lists())
	journal.Extend = func(status *addonsv1alpha1.AddonReleaseStatus) { status.Helm = o.Extra.stages.Intended().DeepCopy() }
	return o.Extra.stages
}
