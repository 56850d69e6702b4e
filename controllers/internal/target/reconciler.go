package target

import (
	"context"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/clusterwatch"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
	"github.com/daytwo-dev/daytwo/controllers/internal/orphans"
	"github.com/daytwo-dev/daytwo/controllers/internal/perobject"
	"github.com/daytwo-dev/daytwo/controllers/internal/statuses"
	"github.com/daytwo-dev/daytwo/controllers/internal/targets"
	"github.com/daytwo-dev/daytwo/controllers/internal/throttle"
)

// Reconciler works on the targets of one kind.
type Reconciler[T metav1alpha1.Target, S, M any] struct {
	// Client reads from the manager's cache and writes to the management cluster.
	Client client.Client
	// APIReader reads from the API server.
	APIReader client.Reader
	// Fleet of connected workload clusters.
	Fleet *fleet.Fleet
	// Targets are all kinds that may have something in a cluster.
	Targets targets.Registry
	// Recorder tells people what they would otherwise miss.
	Recorder events.EventRecorder
	// Orphans is where what a target leaves is recorded.
	Orphans orphans.Records
	Metrics *Metrics
	Log     logr.Logger
	// Kind of the targets.
	Kind Kind[T, S, M]
	// ProviderNamespace is that of the provider, whose targets go before those of customers; empty if nobody's do.
	ProviderNamespace string
	// Secrets are the names of the Secrets in a target's namespace that it uses; nil if targets of the kind use none.
	Secrets func(target T) []string
	// AddWatches adds watches to the controller of the kind, for further objects that its targets depend on; nil for none.
	AddWatches func(b *builder.Builder)

	clusters clusterwatch.Watch[T]
	memory   perobject.Memory[Known[T, S, M]]
	written  statuses.Memory[T]
	pause    throttle.Pause
}

// Reconcile lets the kind work on the latest version of a target, and forgets one that is gone.
func (r *Reconciler[T, S, M]) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	target := r.Kind.New()
	if err := r.Client.Get(ctx, request.NamespacedName, target); err != nil {
		if client.IgnoreNotFound(err) == nil {
			r.Metrics.forget(r.memory.Of(request.NamespacedName).series)
			r.Forget(request.NamespacedName)
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	known := r.memory.Of(request.NamespacedName)
	return r.Kind.Work(ctx, r.written.Of(request.NamespacedName).Of(target), known)
}

// Forget what is remembered of a target, as a start of the manager does.
func (r *Reconciler[T, S, M]) Forget(key types.NamespacedName) {
	r.memory.Forget(key)
	r.written.Forget(key)
}

// Writer writes the status of a target during one reconcile.
func (r *Reconciler[T, S, M]) Writer(target T) *statuses.Writer[T, S] {
	return statuses.NewWriter[T, S](r.Client, r.APIReader, r.Kind, r.written.Of(client.ObjectKeyFromObject(target)), target)
}

// Owner stands for a target in the tracker of a cluster.
func (r *Reconciler[T, S, M]) Owner(target T) tracker.Owner {
	return tracker.Owner{Kind: r.Kind.Name(), NamespacedName: client.ObjectKeyFromObject(target)}
}

// Restore tells the tracker of all targets of a cluster what they have there, before any watch lists it: a watch keeps
// nothing of objects that no target claimed. It does so once for each connection.
func (r *Reconciler[T, S, M]) Restore(ctx context.Context, key types.NamespacedName, cluster *fleet.Cluster) error {
	return cluster.Tracker.Restore(r.Kind.Name(), func(tracker *tracker.Tracker) error {
		targets, err := r.clusters.In(ctx, key)
		if err != nil {
			return err
		}
		for _, one := range targets {
			if one.GetTargetStatus().ClusterID == string(cluster.ID) { // What is in another one, its own reconcile tells.
				r.Kind.Restore(tracker, one)
			}
		}
		return nil
	})
}
