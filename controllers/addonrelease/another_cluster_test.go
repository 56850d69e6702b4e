package addonrelease

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
	"github.com/daytwo-dev/daytwo/controllers/internal/kubeconfig"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
	"github.com/daytwo-dev/daytwo/e2e/faults"
)

// balanced is a TenantCluster behind a balancer that ends TLS: it leads to the second workload cluster, and may lead
// to the first one, where others are at home.
type balanced struct {
	*testing.T
	balancer  *faults.Proxy
	key       types.NamespacedName
	home      client.Client
	identity  types.UID
	elsewhere time.Time
}

func newBalanced(t *testing.T, name string) *balanced {
	t.Helper()
	home, err := client.New(shared.rivalConfig, client.Options{})
	b := &balanced{T: t, key: types.NamespacedName{Namespace: "default", Name: name}, home: home, balancer: faults.Start(t, shared.rivalConfig)}
	b.must(err)
	system := &corev1.Namespace{}
	b.must(home.Get(t.Context(), client.ObjectKey{Name: metav1.NamespaceSystem}, system))
	b.identity = system.UID
	b.must(shared.createTenant(t.Context(), name))
	t.Cleanup(func() {
		shared.connections.Forget(b.key)
		tenant := &tenancyv1alpha1.TenantCluster{ObjectMeta: metav1.ObjectMeta{Namespace: b.key.Namespace, Name: b.key.Name}}
		b.must(shared.management.Delete(context.Background(), tenant))
	})
	access, err := kubeconfig.Parse(b.balancer.Kubeconfig(), kubeconfig.Options{})
	b.must(err)
	shared.connections.Connect(b.key, access)
	b.must(shared.connections.Admit(b.key, b.identity))
	return b
}

func (b *balanced) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// cluster returns the cluster of the TenantCluster once it is connected.
func (b *balanced) cluster() *fleet.Cluster {
	b.Helper()
	var cluster *fleet.Cluster
	eventually(b.T, "the cluster is connected", func() (bool, string) {
		var connected bool
		if cluster, connected = shared.connections.Get(b.key); !connected {
			shared.connections.TryNow(b.key) // Of one that is connected it would be a probe.
		}
		return connected, fmt.Sprint(shared.connections.State(b.key))
	})
	return cluster
}

// lead switches the balancer to another cluster, while the connection stays.
func (b *balanced) lead(name string) {
	b.Helper()
	to, err := shared.fleet.Cluster(name)
	b.must(err)
	b.elsewhere = time.Now()
	b.must(b.balancer.Switch(to.Config()))
}

// waitNoticed waits until it is known that another cluster answers, and fails if anything was written into that.
func (b *balanced) waitNoticed() {
	b.Helper()
	eventually(b.T, "the other cluster is noticed", func() (bool, string) {
		state, _ := shared.connections.State(b.key)
		return state.Phase == fleet.Connected && state.Identity != b.identity, fmt.Sprintf("%+v", state)
	})
	for _, request := range b.balancer.Requests(faults.Match{Verbs: faults.Writes()}) {
		if request.Arrived.After(b.elsewhere) && request.Code < 300 {
			b.Errorf("the other cluster did: %s %s %s/%s (%d)", request.Verb, request.Resource, request.Namespace, request.Name, request.Code)
		}
	}
}

// addon starts a release there.
func (b *balanced) addon(text string) *addon {
	b.Helper()
	a := declareAddon(b.T, "")
	a.start(a.revision(text), func(spec *addonsv1alpha1.AddonReleaseSpec) {
		spec.ClusterRef = metav1alpha1.ClusterReference{Namespace: b.key.Namespace, Name: b.key.Name}
	})
	return a
}

func (b *balanced) edit(object client.Object) {
	b.Helper()
	b.must(b.home.Patch(b.Context(), object, client.RawPatch(types.MergePatchType, []byte(`{"data":{"key":"edited"}}`)), client.FieldOwner("kubectl-edit")))
}

func (b *balanced) waitRestored(object *corev1.ConfigMap) {
	b.Helper()
	eventually(b.T, object.Name+" is restored", func() (bool, string) {
		err := b.home.Get(b.Context(), client.ObjectKeyFromObject(object), object)
		return err == nil && object.Data["key"] == "value", fmt.Sprint(err, object.Data)
	})
}

func TestNothingIsWrittenToAnotherClusterBehindTheSameConnection(t *testing.T) {
	b := newBalanced(t, "balanced")
	b.cluster()
	a := b.addon(fmt.Sprintf(oneConfigMap, "in-both") + "---" + fmt.Sprintf(oneConfigMap, "only-here"))
	a.waitReady()
	theirs := a.configMap("in-both")
	theirs.Labels = map[string]string{metav1alpha1.LabelManagedBy: installation}
	a.create(a.namespaceObject(), "kubectl-create")
	a.create(theirs, "kubectl-create")
	t.Cleanup(func() { b.must(shared.workload.Delete(context.Background(), a.namespaceObject())) })

	// What is known is written by its UID: neither the object that is not there nor the one of that name is touched.
	b.lead("workload-1")
	for _, name := range []string{"in-both", "only-here"} {
		b.edit(a.configMap(name))
	}
	b.waitNoticed()
	b.lead("workload-2")
	b.cluster()
	for _, name := range []string{"in-both", "only-here"} {
		b.waitRestored(a.configMap(name))
	}
	a.waitReady()

	// What is new is created only where the identity is the right one.
	b.lead("workload-1")
	a.apply(fmt.Sprintf(oneConfigMap, "in-both") + "---" + fmt.Sprintf(oneConfigMap, "new"))
	b.waitNoticed()
	b.lead("workload-2")
	b.cluster()
	a.waitReady()
	b.waitRestored(a.configMap("new"))
}

func TestAWriterStopsAtAnotherCluster(t *testing.T) {
	b := newBalanced(t, "stopped")
	cluster := b.cluster()
	w := &apply.Writer{
		Cluster: cluster, Tracker: tracker.New(func(tracker.Owner, bool) {}), Rules: shared.reconciler.Rules,
		Installation: installation, Owns: apply.NoStages{}.Owns, Now: time.Now,
	}
	settings := &unstructured.Unstructured{}
	b.must(yaml.Unmarshal(fmt.Appendf(nil, oneConfigMap, "stopped"), &settings.Object))
	settings.SetNamespace("default")
	declared, err := apply.PrepareOne(settings, installation)
	b.must(err)
	made := w.Do(t.Context(), apply.Write{Object: declared, Purpose: apply.PurposeCreate})
	b.must(made.Err)
	t.Cleanup(func() { b.must(b.home.Delete(context.Background(), settings)) })

	known := apply.Write{Object: declared, Purpose: apply.PurposeUpdate, Entry: apply.Entry{Ref: declared.Ref, UID: made.Result.UID}}
	for range maxOvertaken {
		b.lead("workload-1")
		b.must(w.Confirm(t.Context(), []apply.Write{known})) // Not asked: it would be one request more for each correction.
		done := w.Do(t.Context(), known)
		confirmed := w.Confirm(t.Context(), []apply.Write{known, {Object: declared, Purpose: apply.PurposeCreate}})
		b.waitNoticed()
		asked := b.askedElsewhere()
		const probe = "get kube-system 200"
		if len(asked) > 0 && asked[0] == probe {
			b.lead("workload-2") // A probe of the connection was quicker than the write, and closed it.
			w.Cluster = b.cluster()
			continue
		}
		if !fleet.IsOtherCluster(done.Err) {
			t.Errorf("the object of another cluster is written: %v", done.Err)
		}
		if !fleet.IsOtherCluster(confirmed) {
			t.Errorf("an object may be created: %v", confirmed)
		}
		if want := []string{"patch stopped 409", probe}; len(asked) < 2 || !slices.Equal(asked[:2], want) {
			t.Errorf("the requests are %q, want %q first", asked, want)
		}
		return
	}
	t.Errorf("a probe was quicker than the write %d times", maxOvertaken)
}

// maxOvertaken is how often a probe may be quicker than the write of a test.
const maxOvertaken = 5

// askedElsewhere are the requests since the balancer was switched.
func (b *balanced) askedElsewhere() (asked []string) {
	for _, request := range b.balancer.Requests(faults.Match{Resources: []string{"*"}}) {
		if request.Arrived.After(b.elsewhere) {
			asked = append(asked, fmt.Sprintf("%s %s %d", request.Verb, request.Name, request.Code))
		}
	}
	return asked
}

func TestACorrectionThatNamesTheObjectAsksForNothingElse(t *testing.T) {
	b := newBalanced(t, "asked")
	b.cluster()
	a := b.addon(fmt.Sprintf(oneConfigMap, "settings"))
	a.waitReady()
	edited := time.Now()
	b.edit(a.configMap("settings"))
	b.waitRestored(a.configMap("settings"))
	a.waitBlamed("v1/ConfigMap/"+a.namespace+"/settings", "kubectl-edit")
	var asked []string
	for _, request := range b.balancer.Requests(faults.Match{Resources: []string{"*"}}) {
		if request.Arrived.After(edited) && request.Verb != "watch" {
			asked = append(asked, request.Verb+" "+request.Resource+" "+request.Name)
		}
	}
	if want := []string{"patch configmaps settings"}; !slices.Equal(asked, want) {
		t.Errorf("the requests are %q, want %q", asked, want)
	}
}

func TestAnObjectThatAPersonMadeAnewIsRepairedAtOnce(t *testing.T) {
	t.Parallel()
	a := newAddon(t, fmt.Sprintf(oneConfigMap, "settings"))
	a.waitReady()
	settings := a.configMap("settings")
	for _, labels := range []map[string]string{nil, {metav1alpha1.LabelManagedBy: installation}} {
		before := a.configMap("settings")
		if err := a.fetch(before); err != nil {
			t.Fatal(err)
		}
		if err := shared.workload.Delete(t.Context(), before); err != nil {
			t.Fatal(err)
		}
		again := a.configMap("settings")
		again.Labels, again.Data = labels, map[string]string{"key": "another"}
		if err := shared.workload.Create(t.Context(), again, client.FieldOwner("kubectl-replace")); client.IgnoreAlreadyExists(err) != nil {
			t.Fatal(err)
		}
		eventually(t, "it is as declared", func() (bool, string) {
			err := a.fetch(settings)
			return err == nil && settings.UID != before.UID && settings.Data["key"] == "value" && settings.Labels[metav1alpha1.LabelHash] != "", fmt.Sprint(err, settings)
		})
		a.waitReady()
	}
}
