package drdrill

import (
	"context"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	drill  types.NamespacedName
	target types.NamespacedName
	// backups are those of one policy and cluster: their evidence is one chain.
	backups string
	// recovers: it is for real, and comes before rehearsals.
	recovers bool
}

func placeOf(drill *backupv1alpha1.DRDrill) place {
	return place{
		drill: client.ObjectKeyFromObject(drill), target: targetKey(drill), recovers: recovers(drill),
		backups: drill.Spec.PolicyName + " of TenantCluster " + run.Key(drill.Spec.ClusterRef).String(),
	}
}

// excludes says why two drills cannot be under way at the same time; empty if they can.
func (p place) excludes(other place) string {
	switch {
	case other.target == p.target:
		return fmt.Sprintf("waits for DRDrill %s, which restores into TenantCluster %s", other.drill, other.target)
	case other.drill.Namespace == p.drill.Namespace && other.backups == p.backups:
		return fmt.Sprintf("waits for DRDrill %s of the backups by %s", other.drill, other.backups)
	}
	return ""
}

// Queue implements run.QueuedKind: one drill at a time restores into a cluster, and one the backups of a policy and cluster.
// A recovery waits for no rehearsal: it cancels those that are in its way.
func (r *Reconciler) Queue(ctx context.Context, drill *backupv1alpha1.DRDrill) (string, error) {
	list := &backupv1alpha1.DRDrillList{}
	if err := r.Room.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return "", fmt.Errorf("list the DRDrills: %w", err)
	}
	isEnrolled := func(drill *backupv1alpha1.DRDrill) bool {
		enrollment, err := enrollmentOf(ctx, r.Room.Client, drill)
		return err == nil && enrollment != nil
	}
	waitsFor, cancelled := r.queue.admit(drill, list.Items, isEnrolled)
	for _, key := range cancelled {
		if err := r.cancel(ctx, key); err != nil {
			return "", err
		}
	}
	return waitsFor, nil
}

// cancel ends a rehearsal.
func (r *Reconciler) cancel(ctx context.Context, key types.NamespacedName) error {
	rehearsal := &backupv1alpha1.DRDrill{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	err := r.Room.Client.Patch(ctx, rehearsal, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"cancel":true}}`)))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("cancel DRDrill %s, which is in the way of a recovery: %w", key, err)
	}
	return nil
}

// admit takes a place for a drill, or says what it waits for, and which rehearsals make way. One of a cluster in which its
// policy is not enrolled takes none: it comes to its end at once, and anybody could write it.
func (q *queue) admit(drill *backupv1alpha1.DRDrill, all []backupv1alpha1.DRDrill, isEnrolled func(*backupv1alpha1.DRDrill) bool) (waitsFor string, cancelled []types.NamespacedName) {
	if !isEnrolled(drill) {
		return "", nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	underWay := q.underWay(all, isEnrolled)
	own, ofOne := placeOf(drill), 0
	if !own.recovers {
		addRecoveries(underWay, all, isEnrolled)
	}
	delete(underWay, drill.UID)
	for _, other := range underWay {
		why := own.excludes(other)
		switch {
		case why == "" && other.drill.Namespace == own.drill.Namespace:
			ofOne++
		case why != "" && own.recovers && !other.recovers:
			cancelled = append(cancelled, other.drill)
			waitsFor = why
		case why != "":
			return why, nil
		}
	}
	isFull := len(underWay) >= maxUnderWay || ofOne >= maxOfOne
	switch {
	case waitsFor != "":
		return waitsFor, cancelled
	case isFull && !own.recovers:
		return fmt.Sprintf("waits for other drills: at most %d of a namespace and %d in all are under way at a time", maxOfOne, maxUnderWay), nil
	}
	if q.admitted == nil {
		q.admitted = map[types.UID]place{}
	}
	q.admitted[drill.UID] = own
	return "", nil
}

// addRecoveries adds those that wait: no rehearsal starts before them.
func addRecoveries(underWay map[types.UID]place, all []backupv1alpha1.DRDrill, isEnrolled func(*backupv1alpha1.DRDrill) bool) {
	for i := range all {
		if one := &all[i]; recovers(one) && one.Status.StartedAt == nil && one.DeletionTimestamp.IsZero() && isEnrolled(one) {
			underWay[one.UID] = placeOf(one)
		}
	}
}

// underWay are the drills that take a place. Those whose start, or whose end, the cache shows need no memory.
func (q *queue) underWay(all []backupv1alpha1.DRDrill, isEnrolled func(*backupv1alpha1.DRDrill) bool) map[types.UID]place {
	found, waiting := map[types.UID]place{}, map[types.UID]bool{}
	for i := range all {
		drill := &all[i]
		switch {
		case drill.Status.FinishedAt != nil:
		case drill.Status.StartedAt != nil:
			if len(drill.Status.Clusters) > 0 || isEnrolled(drill) {
				found[drill.UID] = placeOf(drill)
			}
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
