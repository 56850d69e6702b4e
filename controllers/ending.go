package controllers

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/daytwo-dev/daytwo/controllers/internal/graceful"
	"github.com/daytwo-dev/daytwo/controllers/internal/pace"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
	"github.com/daytwo-dev/daytwo/controllers/internal/throttle"
)

// lastWrites is how long the statuses that were put off may take to be written when the manager ends. It is less than the
// five seconds that the manager gives beyond the grace period.
const lastWrites = 4 * time.Second

func (b *base) policyOptions() policy.Options {
	return policy.Options{WithdrawalGuardMax: b.options.guardMax, Wrap: b.wrap, StatusPause: throttle.Summary, ClusterInterval: pace.Interval, AtEnd: b.atEnd}
}

func (b *base) targetOptions() target.Options {
	return target.Options{
		MaxConcurrentReconciles: b.options.ConcurrentTargets, Wrap: b.wrap,
		StatusPause: throttle.Health, ClusterInterval: pace.Interval, AtEnd: b.atEnd,
	}
}

func (b *base) wrap(inner reconcile.Reconciler) reconcile.Reconciler {
	return graceful.InGroup(b.reconciles, inner)
}

// atEnd has something done once the manager was told to stop and no reconcile is under way.
func (b *base) atEnd(do func(ctx context.Context) error) error {
	return b.Add(b.reconciles.Last(lastWrites, func(ctx context.Context) error {
		if err := do(ctx); err != nil {
			b.options.Log.Error(err, "statuses that were put off are not written; the next manager writes them anew")
		}
		return nil
	}))
}
