package addonrelease

import (
	"context"
	"slices"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/addonrelease/helm"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// result is what came of a plan.
type result struct {
	apply.Result
	// status as it was recorded last, before the plan or in its course.
	status addonsv1alpha1.AddonReleaseStatus
	// helm is what came of the stages of a chart.
	helm helm.Result
}

// nothingDone is the result of no plan.
func (o observation) nothingDone() result {
	return result{
		Result: apply.Result{Inventory: o.Inventory}, status: o.status,
		helm: helm.Result{Status: o.status.Helm, RecordPending: o.helm.RecordPending},
	}
}

// corrections are the writes that took something back.
func (r result) corrections() []apply.Written {
	return apply.Corrections(slices.Concat(r.Written, r.helm.Reverted))
}

// apply carries a plan out, with the stages that its source adds.
func (r *Reconciler) apply(ctx context.Context, o observation, p plan, cluster *fleet.Cluster, writer *statusWriter) result {
	done := o.nothingDone()
	if cluster == nil {
		return done
	}
	journal := &statusJournal{}
	journal.Writer, journal.Status, journal.Parts, journal.ClusterID = writer, o.status, statusOf, string(o.ClusterID)
	if p.Begins {
		journal.Begins = o.Inputs
	}
	applier := &apply.Applier{
		Cluster: cluster, Rules: r.Rules, Installation: r.Installation, Stages: apply.NoStages{}, Journal: journal,
		Clock: r.Clock, Log: r.Log, WebhookPatience: r.WebhookPatience,
	}
	if o.helm.Chart == nil {
		done.Result = applier.Apply(ctx, o.objects(), p.Plan)
		done.status = journal.Status
		return done
	}
	chart := helm.NewStages(r.helmTarget(o, cluster, journal), o.forHelm(), p.helm, o.Lists())
	applier.Stages = chart
	journal.addHelm(chart.Intended)
	done.Result = applier.Apply(ctx, o.objects(), p.Plan)
	done.status, done.helm = journal.Status, chart.Result()
	return done
}

// helmTarget is what the stages of the release's chart work with.
func (r *Reconciler) helmTarget(o observation, cluster *fleet.Cluster, journal *statusJournal) helm.Target {
	return helm.Target{
		Cluster: cluster, Owner: r.room.Owner(o.release), HolderName: r.room.HolderName, Journal: journal, Renderings: r.renderings(o.release),
		Rules: r.Rules, Installation: r.Installation, Clock: r.Clock,
	}
}
