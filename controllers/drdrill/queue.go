package drdrill

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/run"
)

// maxUnderWay is how many drills are under way at a time in the whole fleet, and maxOfOne how many of those for one
// namespace: who creates many holds up nobody else.
const (
	maxUnderWay = 16
	maxOfOne    = 4
)

// queue admits drills. The cache may not show yet that one that was admitted has started. The zero value is empty.
type queue struct {
	mu       sync.Mutex
	admitted map[types.UID]place
}

// place is what a drill that is under way takes.
type place struct {
	namespace string
	target    types.NamespacedName
	// backups are those of one policy and cluster: their evidence is one chain.
	backups string
}

func placeOf(drill *backupv1alpha1.DRDrill) place {
	return place{drill.Namespace, targetKey(drill), drill.Spec.PolicyName + " of TenantCluster " + run.Key(drill.Spec.ClusterRef).String()}
}

// Queue implements run.QueuedKind: one drill at a time restores into a cluster, and one the backups of a policy and cluster.
func (r *Reconciler) Queue(ctx context.Context, drill *backupv1alpha1.DRDrill) (string, error) {
	list := &backupv1alpha1.DRDrillList{}
	if err := r.Room.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return "", fmt.Errorf("list the DRDrills: %w", err)
	}
	return r.queue.admit(drill, list.Items), nil
}

// admit takes a place for a drill, or says what it waits for.
func (q *queue) admit(drill *backupv1alpha1.DRDrill, all []backupv1alpha1.DRDrill) string {
	q.mu.Lock()
	defer q.mu.Unlock()
	underWay := q.underWay(all)
	delete(underWay, drill.UID)
	own, ofOne := placeOf(drill), 0
	for _, other := range underWay {
		switch {
		case other.target == own.target:
			return fmt.Sprintf("waits for another drill, which restores into TenantCluster %s", other.target)
		case other.namespace == own.namespace && other.backups == own.backups:
			return "waits for another drill of the backups by " + other.backups
		case other.namespace == own.namespace:
			ofOne++
		}
	}
	if len(underWay) >= maxUnderWay || ofOne >= maxOfOne {
		return fmt.Sprintf("waits for other drills: at most %d of a namespace and %d in all are under way at a time", maxOfOne, maxUnderWay)
	}
	if q.admitted == nil {
		q.admitted = map[types.UID]place{}
	}
	q.admitted[drill.UID] = own
	return ""
}

// underWay are the drills that take a place. Those whose start, or whose end, the cache shows need no memory.
func (q *queue) underWay(all []backupv1alpha1.DRDrill) map[types.UID]place {
	found, waiting := map[types.UID]place{}, map[types.UID]bool{}
	for i := range all {
		drill := &all[i]
		switch {
		case drill.Status.FinishedAt != nil:
		case drill.Status.StartedAt != nil:
			found[drill.UID] = placeOf(drill)
		default:
			waiting[drill.UID] = true
		}
	}
	for uid, taken := range q.admitted {
		if !waiting[uid] {
			delete(q.admitted, uid)
			continue
		}
		found[uid] = taken
	}
	return found
}

// AddWatches implements run.WatchingKind: a drill that has finished, or is gone, makes room for others.
func (r *Reconciler) AddWatches(b *builder.Builder) {
	finished := predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, after := e.ObjectOld.(*backupv1alpha1.DRDrill), e.ObjectNew.(*backupv1alpha1.DRDrill)
			return before.Status.FinishedAt == nil && after.Status.FinishedAt != nil
		},
	}
	b.Watches(&backupv1alpha1.DRDrill{}, handler.EnqueueRequestsFromMapFunc(r.waiting), builder.WithPredicates(finished))
}

// waiting are the drills that have not started.
func (r *Reconciler) waiting(ctx context.Context, _ client.Object) (requests []reconcile.Request) {
	list := &backupv1alpha1.DRDrillList{}
	if err := r.Room.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		r.Room.Log.Error(err, "the drills that wait are not told that another one has finished")
		return nil
	}
	for i := range list.Items {
		if list.Items[i].Status.StartedAt == nil {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return requests
}
