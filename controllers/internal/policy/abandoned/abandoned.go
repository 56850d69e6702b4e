// Package abandoned remembers which targets were let go with what they had made in their clusters, and records them in the
// status of their policy.
package abandoned

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

// limit is how many a policy's status names.
const limit = 10

// Target is one that was removed, with what it left behind: a person did that, or the deletion of its
// TenantCluster was due.
type Target struct {
	name    string
	uid     types.UID
	cluster metav1alpha1.ClusterReference
	objects metav1alpha1.ObjectCount
	deleted metav1.Time
}

// of is nil for a target that is not being abandoned, or whose cluster answers: then it is
// cleaned up, whatever its annotations say.
func of(target metav1alpha1.Target, objects func() []string) *Target {
	if target.GetDeletionTimestamp().IsZero() || !isAbandoned(target) {
		return nil
	}
	return &Target{
		name:    target.GetName(),
		uid:     target.GetUID(),
		cluster: target.GetTargetSpec().ClusterRef,
		objects: metav1alpha1.ObjectCount(rollout.Count(objects())),
		deleted: *target.GetDeletionTimestamp(),
	}
}

// isAbandoned, as soon as it is gone: the target says so itself, or a person asked for it and there is nothing in the way.
func isAbandoned(target metav1alpha1.Target) bool {
	ready := meta.FindStatusCondition(target.GetTargetStatus().Conditions, metav1alpha1.ConditionReady)
	if ready == nil {
		return false
	}
	awaited := ready.Reason == metav1alpha1.ReasonClusterUnreachable || ready.Reason == metav1alpha1.ReasonClusterUnusable
	return ready.Reason == metav1alpha1.ReasonAbandoned ||
		awaited && target.GetAnnotations()[metav1alpha1.AnnotationAbandon] == "true"
}

// Record puts what is new first and keeps the latest ten. The same target is recorded once.
func Record(recorded []metav1alpha1.AbandonedTarget, found []Target, now metav1.Time) (all, added []metav1alpha1.AbandonedTarget) {
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
	return all[:min(len(all), limit)], added
}

// Memory keeps targets that events showed being abandoned, until they are gone and the policy's status names them.
// One that is there still may be cleaned up after all, if its cluster answers at the last moment.
type Memory struct {
	mutex    sync.Mutex
	byPolicy map[types.NamespacedName]map[types.UID]Target
}

// Note what an event showed of a target, and of the objects that it has in its cluster.
func (m *Memory) Note(policy types.NamespacedName, target metav1alpha1.Target, objects func() []string) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	found := of(target, objects)
	if found == nil {
		delete(m.byPolicy[policy], target.GetUID())
		return
	}
	if m.byPolicy == nil {
		m.byPolicy = map[types.NamespacedName]map[types.UID]Target{}
	}
	if m.byPolicy[policy] == nil {
		m.byPolicy[policy] = map[types.UID]Target{}
	}
	m.byPolicy[policy][found.uid] = *found
}

// Gone returns the targets that were abandoned and are not there any more, by cluster. The function tells the UID of the
// target that has a name now; empty for none.
func (m *Memory) Gone(policy types.NamespacedName, uidOf func(name string) types.UID) []Target {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	var all []Target
	for _, noted := range m.byPolicy[policy] {
		if uidOf(noted.name) != noted.uid {
			all = append(all, noted)
		}
	}
	slices.SortFunc(all, func(a, b Target) int {
		return rollout.ClusterKey(a.cluster).Compare(rollout.ClusterKey(b.cluster))
	})
	return all
}

// Forget drops what has been recorded.
func (m *Memory) Forget(policy types.NamespacedName, recorded []Target) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	for _, one := range recorded {
		delete(m.byPolicy[policy], one.uid)
	}
}

// ForgetAll of a policy that is gone.
func (m *Memory) ForgetAll(policy types.NamespacedName) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	delete(m.byPolicy, policy)
}
