package policy

import (
	"context"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/news"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

const abandonedLimit = 10

// abandonment is a target that was removed, with what it left behind: a person did that, or the deletion of its
// TenantCluster was due.
type abandonment struct {
	name    string
	target  types.UID
	cluster metav1alpha1.ClusterReference
	objects metav1alpha1.ObjectCount
	deleted metav1.Time
}

// abandonmentOf is nil for a target that is not being abandoned, or whose cluster answers: then it is
// cleaned up, whatever its annotations say.
func abandonmentOf[T Target](target T, objectsOf func(T) []string) *abandonment {
	if target.GetDeletionTimestamp().IsZero() || !isAbandoned(target) {
		return nil
	}
	return &abandonment{
		name:    target.GetName(),
		target:  target.GetUID(),
		cluster: target.GetTargetSpec().ClusterRef,
		objects: metav1alpha1.ObjectCount(rollout.Count(objectsOf(target))),
		deleted: *target.GetDeletionTimestamp(),
	}
}

// isAbandoned, as soon as it is gone: the target says so itself, or a person asked for it and there is nothing in the way.
func isAbandoned(target Target) bool {
	ready := meta.FindStatusCondition(target.GetTargetStatus().Conditions, metav1alpha1.ConditionReady)
	if ready == nil {
		return false
	}
	awaited := ready.Reason == metav1alpha1.ReasonClusterUnreachable || ready.Reason == metav1alpha1.ReasonClusterUnusable
	return ready.Reason == metav1alpha1.ReasonAbandoned ||
		awaited && target.GetAnnotations()[metav1alpha1.AnnotationAbandon] == "true"
}

// recordAbandoned puts what is new first and keeps the latest ten. The same target is recorded once.
func recordAbandoned(recorded []metav1alpha1.AbandonedTarget, found []abandonment, now metav1.Time) (all, added []metav1alpha1.AbandonedTarget) {
	for _, one := range found {
		known := slices.ContainsFunc(recorded, func(entry metav1alpha1.AbandonedTarget) bool {
			return entry.Cluster == one.cluster && !entry.Time.Before(&one.deleted)
		})
		if known {
			continue
		}
		entry := metav1alpha1.AbandonedTarget{Cluster: one.cluster, Objects: one.objects, Time: now}
		if now.Before(&one.deleted) { // The API server's clock is ahead.
			entry.Time = one.deleted
		}
		added = append(added, entry)
	}
	all = slices.Concat(added, recorded)
	return all[:min(len(all), abandonedLimit)], added
}

// abandonedMemory keeps targets that events showed being abandoned, until they are gone and the policy's status names them.
// One that is there still may be cleaned up after all, if its cluster answers at the last moment.
type abandonedMemory[T Target] struct {
	mutex    sync.Mutex
	byPolicy map[types.NamespacedName]map[types.UID]abandonment
}

func (m *abandonedMemory[T]) note(policy types.NamespacedName, target T, objectsOf func(T) []string) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	found := abandonmentOf(target, objectsOf)
	if found == nil {
		delete(m.byPolicy[policy], target.GetUID())
		return
	}
	if m.byPolicy == nil {
		m.byPolicy = map[types.NamespacedName]map[types.UID]abandonment{}
	}
	if m.byPolicy[policy] == nil {
		m.byPolicy[policy] = map[types.UID]abandonment{}
	}
	m.byPolicy[policy][found.target] = *found
}

// gone returns the targets that were abandoned and are not there any more, by cluster. The function tells the UID of the
// target that has a name now; empty for none.
func (m *abandonedMemory[T]) gone(policy types.NamespacedName, uidOf func(name string) types.UID) []abandonment {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	var all []abandonment
	for _, noted := range m.byPolicy[policy] {
		if uidOf(noted.name) != noted.target {
			all = append(all, noted)
		}
	}
	slices.SortFunc(all, func(a, b abandonment) int {
		return rollout.ClusterKey(a.cluster).Compare(rollout.ClusterKey(b.cluster))
	})
	return all
}

// forget drops what has been recorded.
func (m *abandonedMemory[T]) forget(policy types.NamespacedName, recorded []abandonment) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	for _, one := range recorded {
		delete(m.byPolicy[policy], one.target)
	}
}

func (m *abandonedMemory[T]) forgetAll(policy types.NamespacedName) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	delete(m.byPolicy, policy)
}

// announceAbandoned tells of the last targets of a policy that is gone itself: it has no status any more.
func (r *Reconciler[P, T]) announceAbandoned(ctx context.Context, o observation[P, T]) {
	_, added := recordAbandoned(o.policy.GetPolicyStatus().Abandoned, o.abandoned, metav1.NewTime(o.now))
	r.emit(ctx, o.policy, news.OfAbandoned(added))
}
