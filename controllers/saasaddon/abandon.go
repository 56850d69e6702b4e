package saasaddon

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

const abandonedLimit = 10

// abandonment is a target that was let go, with what it left behind: a person did that, or the deletion of its
// TenantCluster was due.
type abandonment struct {
	target  types.UID
	cluster metav1alpha1.ClusterReference
	objects metav1alpha1.ObjectCount
	deleted metav1.Time
}

// abandonmentOf is nil for a target that is not being let go, or whose cluster answers: then it is
// cleaned up, whatever its annotations say.
func abandonmentOf(target *addonsv1alpha1.AddonRelease) *abandonment {
	if target.DeletionTimestamp.IsZero() || !isLetGo(target) {
		return nil
	}
	var objects []string
	for _, entry := range target.Status.Inventory {
		objects = append(objects, entry.ID)
	}
	return &abandonment{
		target:  target.UID,
		cluster: target.Spec.ClusterRef,
		objects: metav1alpha1.ObjectCount(rollout.Count(objects)),
		deleted: *target.DeletionTimestamp,
	}
}

// isLetGo, as soon as it is gone: the target says so itself, or a person asked for it and there is nothing in the way.
func isLetGo(target *addonsv1alpha1.AddonRelease) bool {
	ready := meta.FindStatusCondition(target.Status.Conditions, metav1alpha1.ConditionReady)
	if ready == nil {
		return false
	}
	return ready.Reason == addonsv1alpha1.ReasonAbandoned ||
		ready.Reason == metav1alpha1.ReasonClusterUnreachable && target.Annotations[metav1alpha1.AnnotationAbandon] == "true"
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

// abandonedMemory keeps targets that were seen being let go, until they are gone and the add-on's status names them.
// One that is there still may be cleaned up after all, if its cluster answers at the last moment.
type abandonedMemory struct {
	mutex    sync.Mutex
	byPolicy map[types.NamespacedName]map[types.UID]abandonment
}

func (m *abandonedMemory) note(policy types.NamespacedName, target *addonsv1alpha1.AddonRelease) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.noteLocked(policy, target)
}

func (m *abandonedMemory) noteLocked(policy types.NamespacedName, target *addonsv1alpha1.AddonRelease) {
	found := abandonmentOf(target)
	if found == nil {
		delete(m.byPolicy[policy], target.UID)
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

// with returns the targets that were let go and are not among those that are there, by cluster.
func (m *abandonedMemory) with(policy types.NamespacedName, targets []addonsv1alpha1.AddonRelease) []abandonment {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	there := make(map[types.UID]bool, len(targets))
	for i := range targets {
		there[targets[i].UID] = true
		m.noteLocked(policy, &targets[i])
	}
	var all []abandonment
	for _, noted := range m.byPolicy[policy] {
		if !there[noted.target] {
			all = append(all, noted)
		}
	}
	slices.SortFunc(all, func(a, b abandonment) int {
		return rollout.ClusterKey(a.cluster).Compare(rollout.ClusterKey(b.cluster))
	})
	return all
}

// forget drops what has been recorded.
func (m *abandonedMemory) forget(policy types.NamespacedName, recorded []abandonment) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	for _, one := range recorded {
		delete(m.byPolicy[policy], one.target)
	}
}

func (m *abandonedMemory) forgetAll(policy types.NamespacedName) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	delete(m.byPolicy, policy)
}

// announceAbandoned tells of the last targets of an add-on that is gone itself: it has no status any more.
func (r *Reconciler) announceAbandoned(seen observed) {
	_, added := recordAbandoned(seen.addon.Status.Abandoned, seen.abandoned, metav1.NewTime(seen.now))
	for _, news := range announcements(seen.addon.Status, seen.addon.Status, added) {
		r.Events.Eventf(seen.addon, nil, news.kind, news.reason, news.action, "%s", news.note)
	}
}
