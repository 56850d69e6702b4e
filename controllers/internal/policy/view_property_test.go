package policy

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/revision"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

// Whatever happens in whatever order, and however late events are handled: once they are, a view that was brought up to date
// is what one is that is built anew, and a policy was woken if its view is another.
func TestAFollowedViewIsWhatABuiltOneIs(t *testing.T) {
	for name, kind := range map[string]Kind[*addonsv1alpha1.SaaSAddon, *addonsv1alpha1.AddonRelease]{
		"all clusters get the same": testKind{}, "each cluster gets content of its own": ownKind{},
	} {
		t.Run(name, func(t *testing.T) { followAtRandom(t, kind) })
	}
}

func followAtRandom(t *testing.T, kind Kind[*addonsv1alpha1.SaaSAddon, *addonsv1alpha1.AddonRelease]) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	env := newFollowing(t, rand.New(rand.NewPCG(seed, 0)), kind)
	for range 6000 {
		env.happen()
		for env.chance(60) {
			env.handle()
		}
		if env.chance(10) {
			env.follow() // Though events are still to be handled.
		}
		if env.chance(20) {
			for env.handle() {
				continue
			}
			env.check()
		}
	}
	if env.compared < 1000 || env.selected < 1000 {
		t.Errorf("%d views with %d clusters were compared", env.compared, env.selected)
	}
}

// ownKind wants something else in each cluster, which depends on the cluster, on its target and on the time.
type ownKind struct{ testKind }

func (ownKind) Pair(
	_ context.Context, _ *addonsv1alpha1.SaaSAddon, cluster *tenancyv1alpha1.TenantCluster, target *addonsv1alpha1.AddonRelease, now time.Time,
) (Pair, error) {
	pair := Pair{Content: "key-" + cluster.Labels["region"]}
	if cluster.Labels["tier"] == "iron" {
		pair.Content, pair.Gates = "", []rollout.Gate{{Reason: "KeyPending", Blocks: rollout.Create | rollout.Update}}
	}
	if target == nil {
		return pair, nil
	}
	// Keys of revision two are urgent from half past on.
	if half := now.Truncate(time.Hour).Add(30 * time.Minute); now.Before(half) {
		pair.Again = half
	} else if pair.Again = half.Add(30 * time.Minute); target.Spec.Revision == "two" {
		pair.Revision, pair.Overrides = "two", []string{"WindowClosed"}
	}
	return pair, nil
}

// following is a room whose cache changes at random.
type following struct {
	*testing.T
	kind   Kind[*addonsv1alpha1.SaaSAddon, *addonsv1alpha1.AddonRelease]
	room   *Reconciler[*addonsv1alpha1.SaaSAddon, *addonsv1alpha1.AddonRelease]
	caches informers
	source *rand.Rand
	now    time.Time

	version int
	// pending are the events that are not handled yet, by kind, and what handles them.
	pending  map[string][]any
	handlers map[string]handler.EventHandler
	woken    wakes
	last     map[types.NamespacedName]compared

	compared, selected int
	// interrupting: something may happen after each list that a view is built from.
	interrupting bool
}

// interrupted is a client after whose lists something happens.
type interrupted struct {
	client.Client
	then func()
}

func (c interrupted) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	err := c.Client.List(ctx, list, opts...)
	c.then()
	return err
}

func (env *following) interrupt() {
	for env.interrupting && env.chance(50) {
		env.happen()
		for env.chance(90) {
			env.handle()
		}
	}
}

// wakes is a queue that keeps whom it was asked to wake.
type wakes struct {
	queue
	policies sets.Set[types.NamespacedName]
}

func (w wakes) Add(request reconcile.Request) { w.policies.Insert(request.NamespacedName) }
func (w wakes) AddAfter(request reconcile.Request, _ time.Duration) {
	w.policies.Insert(request.NamespacedName)
}

var followedPolicies = []types.NamespacedName{{Namespace: "acme", Name: "cache"}, {Namespace: providerNamespace, Name: "agent"}}

func newFollowing(t *testing.T, source *rand.Rand, kind Kind[*addonsv1alpha1.SaaSAddon, *addonsv1alpha1.AddonRelease]) *following {
	env := &following{
		T: t, kind: kind, source: source, now: noon, caches: informers{}, pending: map[string][]any{},
		woken: wakes{policies: sets.New[types.NamespacedName]()}, last: map[types.NamespacedName]compared{},
	}
	mgr := newOfflineManager(t, nil, env.caches)
	env.room = &Reconciler[*addonsv1alpha1.SaaSAddon, *addonsv1alpha1.AddonRelease]{
		Client: interrupted{mgr.GetClient(), env.interrupt}, Kind: kind, ProviderNamespace: providerNamespace,
	}
	if err := env.room.SetupWithManager(mgr, Options{}); err != nil {
		t.Fatal(err)
	}
	startCache(t, mgr)
	env.handlers = map[string]handler.EventHandler{
		"AddonRelease": env.room.targetEvents(), "TenantCluster": env.room.clusterEvents(),
		"Namespace": env.room.namespaceEvents(), "Secret": env.room.revisionEvents("SaaSAddon"),
	}
	for _, policy := range followedPolicies {
		env.put("SaaSAddon", &addonsv1alpha1.SaaSAddon{ObjectMeta: metav1.ObjectMeta{Namespace: policy.Namespace, Name: policy.Name, UID: "1"}})
		env.edit(policy)
	}
	return env
}

func (env *following) chance(percent int) bool { return env.source.IntN(100) < percent }

func pick[V any](env *following, values ...V) V { return values[env.source.IntN(len(values))] }

// put puts an object into the cache; its event is still to be handled.
func (env *following) put(kind string, object client.Object) {
	env.version++
	object.SetResourceVersion(fmt.Sprint(env.version))
	indexer := env.indexer(kind)
	before, there, _ := indexer.Get(object)
	_ = indexer.Update(object)
	if there {
		env.pending[kind] = append(env.pending[kind], event.UpdateEvent{ObjectOld: before.(client.Object), ObjectNew: object})
		return
	}
	env.pending[kind] = append(env.pending[kind], event.CreateEvent{Object: object})
}

func (env *following) remove(kind string, object client.Object) {
	last, there, _ := env.indexer(kind).Get(object)
	if there {
		_ = env.indexer(kind).Delete(last)
		env.pending[kind] = append(env.pending[kind], event.DeleteEvent{Object: last.(client.Object)})
	}
}

func (env *following) indexer(kind string) interface {
	Get(any) (any, bool, error)
	Update(any) error
	Delete(any) error
} {
	for found, informer := range env.caches {
		if found.Kind == kind {
			return informer.GetIndexer()
		}
	}
	env.Fatalf("there is no cache of %s", kind)
	return nil
}

// handle handles the first event of some kind, and says whether there was one.
func (env *following) handle() bool {
	kinds := slices.DeleteFunc(slices.Sorted(maps.Keys(env.pending)), func(kind string) bool { return len(env.pending[kind]) == 0 })
	if len(kinds) == 0 {
		return false
	}
	kind := pick(env, kinds...)
	first := env.pending[kind][0]
	env.pending[kind] = env.pending[kind][1:]
	handlers, ctx := env.handlers[kind], context.Background()
	switch one := first.(type) {
	case event.CreateEvent:
		handlers.Create(ctx, one, env.woken)
	case event.DeleteEvent:
		handlers.Delete(ctx, one, env.woken)
	case event.UpdateEvent:
		if kind == "Namespace" && maps.Equal(one.ObjectOld.GetLabels(), one.ObjectNew.GetLabels()) {
			return true
		}
		handlers.Update(ctx, one, env.woken)
	}
	return true
}

// happen is one change of something.
func (env *following) happen() {
	switch env.source.IntN(12) {
	case 0:
		env.edit(pick(env, followedPolicies...))
	case 1:
		namespace := metadataOf("Namespace")
		namespace.Name, namespace.Labels = pick(env, "acme", "beta", "gamma"), map[string]string{"provider.daytwo.dev/tier": pick(env, "gold", "iron")}
		if env.chance(20) {
			env.remove("Namespace", namespace)
			return
		}
		env.put("Namespace", namespace)
	case 2:
		env.changeARevision()
	case 3:
		env.now = env.now.Add(time.Duration(env.source.IntN(30)) * time.Minute)
		env.woken.policies.Insert(followedPolicies...) // A reconcile follows when a gate opens.
	case 4, 5, 6, 7:
		env.changeACluster()
	default:
		env.changeATarget()
	}
}

// compared is what a rollout depends on.
type compared struct {
	Clusters []rollout.Cluster
	Targets  []rollout.Target
	Missing  []string
	Refused  *Stall
	Again    map[rollout.ClusterKey]time.Time
	Stored   []revision.Stored
	Applied  map[targetKey]string
}

func (env *following) compare(view *view) compared {
	return compared{
		append([]rollout.Cluster{}, view.clusters...), append([]rollout.Target{}, view.targets...), view.missing, view.refused, maps.Clone(view.again),
		append([]revision.Stored{}, view.stored...), maps.Clone(view.applied),
	}
}

func (env *following) follow() {
	env.interrupting = true
	defer func() { env.interrupting = false }()
	for _, key := range followedPolicies {
		if _, err := env.room.follow(env.Context(), env.policy(key), env.now); err != nil {
			env.Fatal(err)
		}
	}
}

// check compares the views with those of a room that starts now.
func (env *following) check() {
	another := &Reconciler[*addonsv1alpha1.SaaSAddon, *addonsv1alpha1.AddonRelease]{Client: env.room.Client, Kind: env.kind, ProviderNamespace: providerNamespace}
	for _, key := range followedPolicies {
		followed, err := env.room.follow(env.Context(), env.policy(key), env.now)
		if err != nil {
			env.Fatal(err)
		}
		built, err := another.follow(env.Context(), env.policy(key), env.now)
		if err != nil {
			env.Fatal(err)
		}
		got, want := env.compare(followed), env.compare(built)
		if !reflect.DeepEqual(got, want) {
			env.Fatalf("%s was followed to\n%+v\nand is\n%+v", key, got, want)
		}
		if named := env.policy(key).Spec.ClusterNames; got.Refused == nil && len(named) > 0 && !slices.Contains(got.Missing, "c9") {
			env.Fatalf("%s misses %v", key, got.Missing)
		}
		env.compared++
		env.selected += len(got.Clusters)
		// A revision that a target has in its cluster wakes no policy, and neither does a new Secret.
		before := env.last[key]
		before.Stored, before.Applied, want.Stored, want.Applied = nil, nil, nil, nil
		if !env.woken.policies.Has(key) && !reflect.DeepEqual(before, want) {
			env.Fatalf("%s was not woken though\n%+v\nbecame\n%+v", key, before, want)
		}
		env.last[key] = want
	}
	env.woken.policies.Clear()
}
