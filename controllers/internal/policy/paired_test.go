package policy

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

const labelContent = "content"

// keyedKind gives each cluster content of its own, which a label names. Without one, nothing comes into the cluster. A freeze
// holds all clusters back, apart from those that hurry.
type keyedKind struct {
	testKind
	frozen *bool
	// asked counts how often Pair was, by cluster.
	asked map[string]int
}

func newKeyedKind() keyedKind {
	return keyedKind{
		testKind: testKind{content: Content[*addonsv1alpha1.SaaSAddon]{Read: contentOf("content")}}, frozen: new(bool), asked: map[string]int{},
	}
}

func (k keyedKind) Gates(*addonsv1alpha1.SaaSAddon, time.Time) []rollout.Gate {
	if !*k.frozen {
		return nil
	}
	return []rollout.Gate{{Reason: "Frozen", Message: "frozen", Blocks: rollout.Create | rollout.Update}}
}

func (k keyedKind) Pair(
	_ context.Context, _ *addonsv1alpha1.SaaSAddon, cluster *tenancyv1alpha1.TenantCluster, target *addonsv1alpha1.AddonRelease, _ time.Time,
) (Pair, error) {
	k.asked[cluster.Name]++
	pair := Pair{Content: cluster.Labels[labelContent]}
	if target != nil && cluster.Labels["hurry"] != "" {
		pair.Overrides, pair.Revision = []string{"Frozen"}, target.Spec.Revision
	}
	if pair.Content == "" {
		pair.Gates = []rollout.Gate{{Reason: "KeyPending", Message: "waiting for a key", Blocks: rollout.Create | rollout.Update, KeepsSlot: true}}
	}
	return pair, nil
}

// setCluster labels a cluster, as its watch would show it.
func (r *toyRoom) setCluster(name string, labels map[string]string) {
	before, after := toyCluster(name, ""), toyCluster(name, "")
	maps.Copy(after.Labels, labels)
	_ = r.caches[tenancyv1alpha1.GroupVersion.WithKind("TenantCluster")].GetIndexer().Update(after)
	r.clusterEvents().Update(r.Context(), event.UpdateEvent{ObjectOld: before, ObjectNew: after}, discard{})
}

// editPolicy changes the policy, as its watch would show it.
func (r *toyRoom) editPolicy(change func(*addonsv1alpha1.SaaSAddon)) {
	addon := &addonsv1alpha1.SaaSAddon{}
	if err := r.Client.Get(r.Context(), r.policy, addon); err != nil {
		r.Fatal(err)
	}
	addon.Generation++
	change(addon)
	_ = r.caches[addonsv1alpha1.GroupVersion.WithKind("SaaSAddon")].GetIndexer().Update(addon)
}

// showTarget puts a target into the cache, as its watch would.
func (r *toyRoom) showTarget(target *addonsv1alpha1.AddonRelease) {
	_ = r.caches[addonsv1alpha1.GroupVersion.WithKind("AddonRelease")].GetIndexer().Update(target)
	r.targetEvents().Create(r.Context(), event.CreateEvent{Object: target}, discard{})
}

// recording is a client that keeps what is written, and stores nothing.
type recording struct {
	client.Client
	// targets that were written, by their names.
	targets map[string]*addonsv1alpha1.AddonRelease
}

// Create implements client.Client.
func (c recording) Create(_ context.Context, object client.Object, _ ...client.CreateOption) error {
	c.keep(object)
	return nil
}

// Patch implements client.Client.
func (c recording) Patch(_ context.Context, object client.Object, _ client.Patch, _ ...client.PatchOption) error {
	c.keep(object)
	return nil
}

func (c recording) keep(object client.Object) {
	if target, ok := object.(*addonsv1alpha1.AddonRelease); ok {
		c.targets[target.Spec.ClusterRef.Name] = target
	}
}

// step carries out what is planned, has the cache show it, and returns the content that was written, by cluster.
func (r *toyRoom) step(ready bool) map[string]string {
	r.Helper()
	o := r.observe(noon)
	p := newPlan(*o)
	writer := recording{Client: r.Client, targets: map[string]*addonsv1alpha1.AddonRelease{}}
	p.store, p.prune = nil, nil
	another := *r
	another.Reconciler = &Reconciler[*addonsv1alpha1.SaaSAddon, *addonsv1alpha1.AddonRelease]{Client: writer, Kind: r.Kind, Clock: r.Clock}
	if done := another.apply(r.Context(), o, p); done.err != nil || done.outdated {
		r.Fatalf("outdated %v, %v", done.outdated, done.err)
	}
	written := map[string]string{}
	for cluster, target := range writer.targets {
		written[cluster] = target.Spec.Content
		whole := newTarget(testKind{}, o.policy, rollout.ClusterKey{Namespace: "acme", Name: cluster})
		whole.Spec = target.Spec
		whole.Spec.ClusterRef = metav1alpha1.ClusterReference{Namespace: "acme", Name: cluster}
		if ready {
			whole.Status.Conditions = []metav1.Condition{{Type: metav1alpha1.ConditionReady, Status: metav1.ConditionTrue}}
		}
		r.showTarget(whole)
	}
	return written
}

func wantWritten(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	if !maps.Equal(got, want) {
		t.Errorf("%s: %v is written, not %v", what, got, want)
	}
}

func TestContentReachesTargetsInSlotsAndBehindGates(t *testing.T) {
	kind := newKeyedKind()
	room := newToyRoom(t, kind)
	room.Clock = testingclock.NewFakePassiveClock(noon)
	room.editPolicy(func(addon *addonsv1alpha1.SaaSAddon) { addon.Spec.Rollout.MaxConcurrent = 1 })
	room.setCluster("due", map[string]string{labelContent: "key-a"})
	room.setCluster("fresh", map[string]string{labelContent: "key-b"})

	wantWritten(t, "the first slot", room.step(false), map[string]string{"due": "key-a"})
	wantWritten(t, "while that is on its way", room.step(false), map[string]string{})
	room.ready("due")
	wantWritten(t, "the next slot", room.step(true), map[string]string{"fresh": "key-b"})
	wantWritten(t, "when all have what they should", room.step(true), map[string]string{})

	// Other content rolls out like another revision, and so does the first of a cluster that waited for some.
	room.setCluster("due", map[string]string{labelContent: "key-c"})
	room.setCluster("fresh", map[string]string{labelContent: "key-d"})
	*kind.frozen = true
	wantWritten(t, "behind a gate", room.step(true), map[string]string{})
	room.setCluster("fresh", map[string]string{labelContent: "key-d", "hurry": "yes"})
	wantWritten(t, "what is urgent", room.step(true), map[string]string{"fresh": "key-d"})
	*kind.frozen = false
	wantWritten(t, "once the gate is open", room.step(true), map[string]string{"due": "key-c"})
	room.setCluster("waiting", map[string]string{labelContent: "key-e"})
	wantWritten(t, "what waited for its content", room.step(true), map[string]string{"waiting": "key-e"})

	// A cluster whose new content is not there yet keeps what it has.
	room.setCluster("due", nil)
	wantWritten(t, "without content", room.step(true), map[string]string{})
}

func TestAnUrgentClusterWaitsForNoSlot(t *testing.T) {
	room := newToyRoom(t, newKeyedKind())
	room.Clock = testingclock.NewFakePassiveClock(noon)
	room.editPolicy(func(addon *addonsv1alpha1.SaaSAddon) { addon.Spec.Rollout.MaxConcurrent = 1 })
	room.setCluster("due", map[string]string{labelContent: "key-a"})
	wantWritten(t, "the first slot", room.step(true), map[string]string{"due": "key-a"})
	room.setCluster("fresh", map[string]string{labelContent: "key-b"})
	wantWritten(t, "the slot again", room.step(false), map[string]string{"fresh": "key-b"})
	room.setCluster("due", map[string]string{labelContent: "key-c"})
	wantWritten(t, "no slot is free", room.step(true), map[string]string{})
	room.setCluster("due", map[string]string{labelContent: "key-c", "hurry": "yes"})
	wantWritten(t, "it is urgent", room.step(true), map[string]string{"due": "key-c"})
}

// ready has the target in a cluster be ready.
func (r *toyRoom) ready(cluster string) {
	r.Helper()
	target := &addonsv1alpha1.AddonRelease{}
	name := rollout.TargetName(r.policy.Name, rollout.ClusterKey{Namespace: "acme", Name: cluster})
	if err := r.Client.Get(r.Context(), client.ObjectKey{Namespace: "acme", Name: name}, target); err != nil {
		r.Fatal(err)
	}
	target.Status.Conditions = []metav1.Condition{{Type: metav1alpha1.ConditionReady, Status: metav1.ConditionTrue}}
	r.showTarget(target)
}

// counting counts reads from the cache.
type counting struct {
	client.Client
	reads map[string]int
}

// Get implements client.Client.
func (c counting) Get(ctx context.Context, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
	c.reads[fmt.Sprintf("get %T", object)]++
	return c.Client.Get(ctx, key, object, opts...)
}

// List implements client.Client.
func (c counting) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	c.reads[fmt.Sprintf("list %T", list)]++
	return c.Client.List(ctx, list, opts...)
}

// One certificate of 5,000 that is issued costs a look at its cluster, and not at 5,000.
func TestWakingOneClusterReadsThatClusterAlone(t *testing.T) {
	const clusters = 200
	kind := newKeyedKind()
	room := newToyRoom(t, kind)
	indexer := room.caches[tenancyv1alpha1.GroupVersion.WithKind("TenantCluster")].GetIndexer()
	for i := range clusters {
		_ = indexer.Add(toyCluster(fmt.Sprintf("many-%03d", i), ""))
	}
	if p, _ := room.plan(noon); len(p.input.Clusters) != clusters+3 || len(kind.asked) != clusters+3 {
		t.Fatalf("%d clusters are selected, and of %d it was asked", len(p.input.Clusters), len(kind.asked))
	}
	clear(kind.asked)
	reads := map[string]int{}
	room.Client = counting{room.Client, reads}
	keyed := toyCluster("many-007", "")
	keyed.Labels[labelContent] = "key-7"
	_ = indexer.Update(keyed)

	room.WakeCluster(room.policy, rollout.ClusterKey{Namespace: "acme", Name: "many-007"})
	p, _ := room.plan(noon)
	if len(p.rollout.Create) != 1 || p.rollout.Create[0].Content != "key-7" {
		t.Errorf("it does %+v", p.rollout.Create)
	}
	if !maps.Equal(kind.asked, map[string]int{"many-007": 1}) {
		t.Errorf("it was asked of %v", slices.Sorted(maps.Keys(kind.asked)))
	}
	for read, count := range reads {
		// The policy, and the target in that cluster.
		if count > 1 || read == "list *v1alpha1.TenantClusterList" || read == "list *v1alpha1.AddonReleaseList" {
			t.Errorf("%s: %d times", read, count)
		}
	}
	if reads["get *v1alpha1.TenantCluster"] != 1 {
		t.Errorf("it read %v", reads)
	}
	// The contrast: Wake asks of all.
	clear(kind.asked)
	if room.Wake(room.policy); len(kind.asked) > 0 {
		t.Error("it asks before it is reconciled")
	}
	if room.plan(noon); len(kind.asked) != clusters+3 {
		t.Errorf("it was asked of %d", len(kind.asked))
	}
}
