package policy

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/clusterstate"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/revision"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

// BenchmarkTargetEvent is what one event of a target costs: its handler, and the reconcile that it wakes. The caches are
// the manager's own, filled without an API server, and nothing has to be written. Aside leaves the planner out.
func BenchmarkTargetEvent(b *testing.B) {
	for _, measured := range []string{"aside", "whole"} {
		for _, clusters := range []int{50, 500, 5000} {
			b.Run(fmt.Sprintf("%s/%d", measured, clusters), func(b *testing.B) {
				room := newBenchmarkRoom(b, clusters)
				step := room.reconcile
				if measured == "aside" {
					step = room.allButPlanning
				}
				step(b)
				b.ReportAllocs()
				for b.Loop() {
					room.changeATarget()
					step(b)
				}
			})
		}
	}
}

// BenchmarkMemory is what the room itself keeps of each cluster of a policy, beside the manager's caches.
func BenchmarkMemory(b *testing.B) {
	const clusters = 5000
	for b.Loop() {
		room := newBenchmarkRoom(b, clusters)
		before := liveBytes()
		room.reconcile(b)
		after := liveBytes()
		b.ReportMetric(float64(int64(after)-int64(before))/clusters, "B/cluster")
		runtime.KeepAlive(room)
	}
}

func liveBytes() uint64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// benchmarkRoom is a policy that is ready in all of its clusters. There are as many targets of another policy beside its
// own.
type benchmarkRoom struct {
	*Reconciler[*addonsv1alpha1.SaaSAddon, *addonsv1alpha1.AddonRelease]
	policy    types.NamespacedName
	informers informers
	targets   []*addonsv1alpha1.AddonRelease
	changes   int
	queue     discard
}

func newBenchmarkRoom(b testing.TB, clusters int) *benchmarkRoom {
	room := &benchmarkRoom{policy: types.NamespacedName{Namespace: "acme", Name: "cache"}, informers: informers{}}
	snapshot, err := revision.NewSnapshot("cache", []byte("content"))
	if err != nil {
		b.Fatal(err)
	}
	objects := room.objects(b, clusters, snapshot)
	mgr := newOfflineManager(b, objects, room.informers)
	room.Reconciler = &Reconciler[*addonsv1alpha1.SaaSAddon, *addonsv1alpha1.AddonRelease]{
		Client: offline{mgr.GetClient(), room.storeStatus}, APIReader: mgr.GetClient(), Recorder: &events.FakeRecorder{}, Clock: testingclock.NewFakePassiveClock(noon),
		Kind: testKind{content: Content[*addonsv1alpha1.SaaSAddon]{
			Read: contentOf("content"),
		}},
		ProviderNamespace: providerNamespace,
	}
	if err := room.SetupWithManager(mgr, Options{}); err != nil {
		b.Fatal(err)
	}
	startCache(b, mgr)
	return room
}

// store puts a newer object into the cache, as a watch does.
func (room *benchmarkRoom) store(kind string, object client.Object) {
	_ = room.informers[addonsv1alpha1.GroupVersion.WithKind(kind)].GetIndexer().Update(object)
}

func (room *benchmarkRoom) storeStatus(written client.Object) {
	addon := &addonsv1alpha1.SaaSAddon{}
	_ = room.Client.Get(context.Background(), room.policy, addon)
	addon.Status = written.(*addonsv1alpha1.SaaSAddon).Status
	room.store("SaaSAddon", addon)
}

// objects are what the API server would have of a policy that is settled.
func (room *benchmarkRoom) objects(b testing.TB, clusters int, snapshot *revision.Snapshot) map[schema.GroupVersionKind][]kruntime.Object {
	addon := &addonsv1alpha1.SaaSAddon{ObjectMeta: metav1.ObjectMeta{
		Namespace: room.policy.Namespace, Name: room.policy.Name, UID: "policy", Generation: 3, ResourceVersion: "7",
		Finalizers: []string{metav1alpha1.FinalizerPolicy},
	}}
	addon.Spec.ClusterSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "gold"}}
	objects := map[schema.GroupVersionKind][]kruntime.Object{}
	for i := range clusters {
		found := &tenancyv1alpha1.TenantCluster{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "acme", Name: fmt.Sprintf("cluster-%05d", i), UID: types.UID(fmt.Sprintf("cluster-%05d", i)), ResourceVersion: "5",
				Labels: map[string]string{"tier": "gold", "region": "eu-west", "customer": fmt.Sprintf("customer-%05d", i)},
			},
			Status: tenancyv1alpha1.TenantClusterStatus{
				Version:    "v1.36.3",
				Conditions: []metav1.Condition{{Type: tenancyv1alpha1.ConditionConnected, Status: metav1.ConditionTrue}},
			},
		}
		objects[tenancyv1alpha1.GroupVersion.WithKind("TenantCluster")] = append(objects[tenancyv1alpha1.GroupVersion.WithKind("TenantCluster")], found)
		for _, owner := range []string{addon.Name, "another"} {
			target := room.target(addon, owner, found, snapshot)
			objects[addonsv1alpha1.GroupVersion.WithKind("AddonRelease")] = append(objects[addonsv1alpha1.GroupVersion.WithKind("AddonRelease")], target)
			if owner == addon.Name {
				room.targets = append(room.targets, target)
			}
		}
	}
	for i := range max(clusters/50, 1) {
		secret := metadataOf("Secret")
		secret.Namespace, secret.Name, secret.ResourceVersion = "acme", fmt.Sprintf("another-%d", i), "6"
		secret.Labels = map[string]string{revision.LabelPolicyKind: "SaaSAddon", metav1alpha1.LabelPolicy: fmt.Sprintf("another-%d", i), metav1alpha1.LabelRevision: snapshot.Label}
		if i == 0 {
			secret.Name, secret.Labels[metav1alpha1.LabelPolicy] = snapshot.Name, addon.Name
		}
		objects[corev1.SchemeGroupVersion.WithKind("Secret")] = append(objects[corev1.SchemeGroupVersion.WithKind("Secret")], secret)
	}
	objects[addonsv1alpha1.GroupVersion.WithKind("SaaSAddon")] = []kruntime.Object{addon}
	return objects
}

func (room *benchmarkRoom) target(addon *addonsv1alpha1.SaaSAddon, owner string, cluster *tenancyv1alpha1.TenantCluster, snapshot *revision.Snapshot) *addonsv1alpha1.AddonRelease {
	key := rollout.ClusterKey{Namespace: cluster.Namespace, Name: cluster.Name}
	target := newTarget(testKind{}, addon, key)
	target.Name, target.Labels[metav1alpha1.LabelPolicy] = rollout.TargetName(owner, key), owner
	target.UID, target.ResourceVersion, target.Generation = types.UID(target.Name), "6", 1
	target.Spec.Revision, target.Spec.Cluster = snapshot.Name, clusterstate.ParametersOf(cluster)
	settingsOf(addon, noon).setOn(&target.Spec.TargetSpec)
	target.Status.Conditions = []metav1.Condition{{Type: metav1alpha1.ConditionReady, Status: metav1.ConditionTrue, ObservedGeneration: 1, Message: "as it should be"}}
	return target
}

// changeATarget is the event of a target that says something else and is still ready.
func (room *benchmarkRoom) changeATarget() {
	room.changes++
	at := room.changes % len(room.targets)
	before := room.targets[at]
	after := before.DeepCopy()
	after.ResourceVersion = fmt.Sprint(6 + room.changes)
	after.Status.Conditions[0].Message = fmt.Sprintf("as it should be, for the time %d", room.changes)
	room.targets[at] = after
	room.store("AddonRelease", after)
	room.targetEvents().Update(context.Background(), event.UpdateEvent{ObjectOld: before, ObjectNew: after}, room.queue)
}

func (room *benchmarkRoom) reconcile(b *testing.B) {
	again, err := room.Reconcile(b.Context(), reconcile.Request{NamespacedName: room.policy})
	if err != nil || again.RequeueAfter > 0 {
		b.Fatalf("%+v, %v", again, err)
	}
}

func (room *benchmarkRoom) allButPlanning(b *testing.B) {
	policy, ctx := &addonsv1alpha1.SaaSAddon{}, b.Context()
	if err := room.Client.Get(ctx, room.policy, policy); err != nil || room.isCacheBehind(ctx, policy, noon) {
		b.Fatalf("the cache is behind, or lacks the policy: %v", err)
	}
	view, err := room.follow(ctx, policy, noon)
	if err != nil {
		b.Fatal(err)
	}
	o, err := room.observe(ctx, policy, view, noon)
	if err != nil || o.stall != nil {
		b.Fatalf("observed %+v, %v", o, err)
	}
	if done := room.apply(b.Context(), o, plan[*addonsv1alpha1.SaaSAddon]{}); done.err != nil {
		b.Fatal(done.err)
	}
	if _, err := room.publish(b.Context(), o.policy, report[*addonsv1alpha1.SaaSAddon]{status: statusOnly(room.Kind, o.policy)}, o.now); err != nil {
		b.Fatal(err)
	}
}

// offline writes a status into the cache, and nothing else.
type offline struct {
	client.Client
	written func(client.Object)
}

func (c offline) Status() client.SubResourceWriter { return offlineStatus{written: c.written} }

type offlineStatus struct {
	client.SubResourceWriter
	written func(client.Object)
}

func (s offlineStatus) Patch(_ context.Context, object client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
	s.written(object)
	return nil
}

// discard is a queue that drops what it is given.
type discard struct{ queue }

func (discard) AddAfter(reconcile.Request, time.Duration) {}
