package orphanrecord

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/orphans"
	"github.com/daytwo-dev/daytwo/controllers/internal/targets"
	"github.com/daytwo-dev/daytwo/controllers/internal/times"
)

// DefaultHeadStart is how long a cluster has been Ready before anything is swept there. Policies that select it
// again make their targets meanwhile, and these take over what they find: what would be swept and applied again at
// once, runs on. A target is made within seconds of its cluster's being Ready.
const DefaultHeadStart = time.Minute

// +kubebuilder:rbac:groups=tenancy.daytwo.dev,resources=tenantclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=tenancy.daytwo.dev,resources=orphanrecords,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler sweeps what OrphanRecords list.
type Reconciler struct {
	// Client reads from the manager's cache.
	Client client.Client
	// Reader reads from the API server: what decides about a deletion is never taken from a cache.
	Reader client.Reader
	// Orphans writes the records.
	Orphans orphans.Records
	// Targets are the kinds whose objects have something in clusters.
	Targets targets.Registry
	// Fleet of connected workload clusters.
	Fleet *fleet.Fleet
	// Installation is the value of the label daytwo.dev/managed-by.
	Installation string
	// HeadStart of add-ons that select a cluster again; see DefaultHeadStart.
	HeadStart time.Duration
	Recorder  events.EventRecorder
	Metrics   *Metrics
	Clock     clock.PassiveClock
	Log       logr.Logger

	memory memory
}

// Reconcile looks at the records of one namespace, and sweeps as much of what they list as fits into one go. One customer
// keeps one worker busy at most.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	o, err := r.observe(ctx, request.Namespace)
	if err != nil {
		return ctrl.Result{}, err
	}
	p := newPlan(o)
	results := r.applyInTime(ctx, o, p)
	next := o.tries.after(o.now, results)
	if err := r.report(ctx, o, results); err != nil {
		return ctrl.Result{}, err
	}
	if at := times.Earliest(p.wakeAt, next); !at.IsZero() {
		return ctrl.Result{RequeueAfter: max(at.Sub(r.Clock.Now()), time.Millisecond)}, nil
	}
	return ctrl.Result{}, nil
}

// applyInTime leaves time to write down what was done.
func (r *Reconciler) applyInTime(ctx context.Context, o observation, p plan) []result {
	ctx, cancel := context.WithTimeout(ctx, longestReconcile/2)
	defer cancel()
	return r.apply(ctx, o, p)
}

// report takes the results into the records, and tells on the TenantClusters what was swept there.
func (r *Reconciler) report(ctx context.Context, o observation, results []result) error {
	for i := range o.records {
		made := updateOf(o, &o.records[i], results)
		if !made.changes(&o.records[i]) {
			continue
		}
		if err := r.Orphans.Revise(ctx, client.ObjectKeyFromObject(&o.records[i]), made.take); err != nil {
			return err
		}
	}
	for _, site := range o.sites {
		if text := swept(results, site.id); text != "" {
			r.Recorder.Eventf(site.tenant, nil, eventNormal, eventSwept, actionSweep, "%s", text)
			r.Log.Info("orphans swept", "cluster", site.key().String(), "what", text)
		}
	}
	return nil
}
