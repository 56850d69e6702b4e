package policy

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/clusterstate"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/revision"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

const labelRevision = "revision"

// toyKind stands for a kind of certificates: each cluster has a revision of its own, in a label; a freeze holds all clusters
// back, unless what is in a cluster ends within an hour; and a cluster that still waits for its key has a gate.
type toyKind struct {
	testKind
	frozenUntil time.Time
	ends        *time.Time
}

func (k toyKind) Gates(*addonsv1alpha1.SaaSAddon, time.Time) []rollout.Gate {
	return []rollout.Gate{{Reason: "Frozen", Message: "frozen", Until: k.frozenUntil, Blocks: rollout.Create | rollout.Update}}
}

func (k toyKind) Pair(
	_ context.Context, _ *addonsv1alpha1.SaaSAddon, cluster *tenancyv1alpha1.TenantCluster, target *addonsv1alpha1.AddonRelease, now time.Time,
) (Pair, error) {
	pair := Pair{Revision: cluster.Labels[labelRevision]}
	switch {
	case pair.Revision == "":
		pair.Gates = []rollout.Gate{{Reason: "KeyPending", Message: "waiting for a key", Blocks: rollout.Create | rollout.Update}}
	case target == nil:
	case k.ends.Sub(now) < time.Hour:
		pair.Overrides = []string{"Frozen"}
	default:
		pair.Again = k.ends.Add(-time.Hour + time.Second)
	}
	return pair, nil
}

// toyRoom is a room with one policy of the toy kind, which selects the clusters due, fresh and waiting.
type toyRoom struct {
	*Reconciler[*addonsv1alpha1.SaaSAddon, *addonsv1alpha1.AddonRelease]
	*testing.T
	caches informers
	policy types.NamespacedName
}

func newToyRoom(t *testing.T, kind Kind[*addonsv1alpha1.SaaSAddon, *addonsv1alpha1.AddonRelease]) *toyRoom {
	addon := &addonsv1alpha1.SaaSAddon{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "cache", UID: "1", Finalizers: []string{metav1alpha1.FinalizerPolicy}}}
	addon.Spec.ClusterSelector = &metav1.LabelSelector{}
	objects := map[schema.GroupVersionKind][]kruntime.Object{addonsv1alpha1.GroupVersion.WithKind("SaaSAddon"): {addon}}
	clusters := tenancyv1alpha1.GroupVersion.WithKind("TenantCluster")
	for name, own := range map[string]string{"due": "own-due", "fresh": "own-fresh", "waiting": ""} {
		objects[clusters] = append(objects[clusters], toyCluster(name, own))
	}
	room := &toyRoom{T: t, caches: informers{}, policy: client.ObjectKeyFromObject(addon)}
	mgr := newOfflineManager(t, objects, room.caches)
	room.Reconciler = &Reconciler[*addonsv1alpha1.SaaSAddon, *addonsv1alpha1.AddonRelease]{Client: mgr.GetClient(), Kind: kind}
	if err := room.SetupWithManager(mgr, Options{}); err != nil {
		t.Fatal(err)
	}
	startCache(t, mgr)
	return room
}

func toyCluster(name, own string) *tenancyv1alpha1.TenantCluster {
	found := &tenancyv1alpha1.TenantCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: name, Labels: map[string]string{labelRevision: own}}}
	found.Status.Version = "v1.36.3"
	found.Status.Conditions = []metav1.Condition{{Type: tenancyv1alpha1.ConditionConnected, Status: metav1.ConditionTrue}}
	return found
}

// observe is what the room knows at some time.
func (r *toyRoom) observe(now time.Time) *observed {
	addon := &addonsv1alpha1.SaaSAddon{}
	if err := r.Client.Get(r.Context(), r.policy, addon); err != nil {
		r.Fatal(err)
	}
	view, err := r.follow(r.Context(), addon, now)
	if err != nil {
		r.Fatal(err)
	}
	o, err := r.Reconciler.observe(r.Context(), addon, view, now)
	if err != nil {
		r.Fatal(err)
	}
	return o
}

// plan is what the room would do at some time, and when it would look again.
func (r *toyRoom) plan(now time.Time) (plan[*addonsv1alpha1.SaaSAddon], time.Duration) {
	o := r.observe(now)
	p := newPlan(*o)
	return p, newReport(r.Kind, *o, p, result{}).again
}

// deliver has a ready target in a cluster, at a revision.
func (r *toyRoom) deliver(cluster, revision string) {
	addon := &addonsv1alpha1.SaaSAddon{ObjectMeta: metav1.ObjectMeta{Namespace: r.policy.Namespace, Name: r.policy.Name}}
	target := newTarget(testKind{}, addon, rollout.ClusterKey{Namespace: "acme", Name: cluster})
	target.Spec.Revision, target.Spec.Cluster = revision, clusterstate.ParametersOf(toyCluster(cluster, "own-"+cluster))
	settingsOf(addon, noon).setOn(&target.Spec.TargetSpec)
	target.Status.Conditions = []metav1.Condition{{Type: metav1alpha1.ConditionReady, Status: metav1.ConditionTrue}}
	_ = r.caches[addonsv1alpha1.GroupVersion.WithKind("AddonRelease")].GetIndexer().Add(target)
	r.targetEvents().Create(r.Context(), event.CreateEvent{Object: target}, discard{})
}

func TestAKindHoldsChangesBackAndAnUrgentClusterPasses(t *testing.T) {
	ends := noon.Add(3 * time.Hour)
	content := Content[*addonsv1alpha1.SaaSAddon]{Read: contentOf("content")}
	room := newToyRoom(t, toyKind{testKind: testKind{content: content}, frozenUntil: noon.Add(8 * time.Hour), ends: &ends})

	p, again := room.plan(noon)
	if !p.rollout.Empty() || again != 8*time.Hour {
		t.Errorf("frozen, it does %+v, and again after %s", p.rollout, again)
	}
	// What is delivered ends in three hours: from two hours on, it is urgent.
	room.deliver("due", "own-older")
	p, again = room.plan(noon)
	if len(p.rollout.Update) > 0 || again != 2*time.Hour+time.Second {
		t.Errorf("frozen, it does %+v, and again after %s", p.rollout, again)
	}
	p, _ = room.plan(noon.Add(again))
	if updates := p.rollout.Update; len(updates) != 1 || updates[0].Cluster.Revision != "own-due" || len(p.rollout.Create) > 0 {
		t.Errorf("what ends soon waits: %+v", p.rollout)
	}
	summary := rollout.Summarize(p.input)
	if len(summary.Waiting) != 1 || summary.Waiting[0].Reason != "Frozen" || summary.Waiting[0].Clusters.Count != 2 {
		t.Errorf("waiting %+v", summary.Waiting)
	}
}

// thawedKind has no gates for all clusters.
type thawedKind struct{ toyKind }

func (thawedKind) Gates(*addonsv1alpha1.SaaSAddon, time.Time) []rollout.Gate { return nil }

func TestEachClusterGetsItsOwnRevision(t *testing.T) {
	for _, wake := range []string{"Wake", "TenantCluster"} {
		t.Run(wake, func(t *testing.T) {
			ends := noon.Add(3 * time.Hour)
			room := newToyRoom(t, toyKind{ends: &ends})
			room.Kind = thawedKind{toyKind{testKind: testKind{content: Content[*addonsv1alpha1.SaaSAddon]{Read: contentOf("content")}}, ends: &ends}}
			p, _ := room.plan(noon)
			if wanted := wantedRevisions(p); len(wanted) != 2 || wanted["due"] != "own-due" || wanted["fresh"] != "own-fresh" {
				t.Errorf("creates %v", wanted)
			}
			// The key of the last cluster is there.
			before, after := toyCluster("waiting", ""), toyCluster("waiting", "own-waiting")
			_ = room.caches[tenancyv1alpha1.GroupVersion.WithKind("TenantCluster")].GetIndexer().Update(after)
			if wake == "Wake" {
				room.Wake(room.policy)
			} else {
				room.clusterEvents().Update(t.Context(), event.UpdateEvent{ObjectOld: before, ObjectNew: after}, discard{})
			}
			p, _ = room.plan(noon)
			if wanted := wantedRevisions(p); len(wanted) != 3 || wanted["waiting"] != "own-waiting" {
				t.Errorf("creates %v", wanted)
			}
		})
	}
}

// What a cluster should have is stored, though no target names it yet and the policy has newer content.
func TestARevisionThatAClusterShouldHaveIsNotPruned(t *testing.T) {
	policy := settled(t)
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "own"} {
		policy.stored = append(policy.stored, revision.Stored{Name: name, Created: noon})
	}
	o := policy.o()
	if pruned := newPlan(o).prune; len(pruned) != 2 {
		t.Fatalf("prunes %+v", pruned)
	}
	o.view.setCluster(wantedIn(o.policy, policy.clusters[0], "", noon).with(Pair{Revision: "a"}, noon))
	o.view.setRevision("newer")
	if pruned := newPlan(o).prune; len(pruned) != 1 || pruned[0].Name != "b" {
		t.Errorf("prunes %+v", pruned)
	}
}

func wantedRevisions(p plan[*addonsv1alpha1.SaaSAddon]) map[string]string {
	wanted := map[string]string{}
	for _, created := range p.rollout.Create {
		wanted[created.Name] = created.Revision
	}
	return wanted
}
