package optionalkind

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/daytwo-dev/daytwo/tools/local/expect"
	"github.com/daytwo-dev/daytwo/tools/local/fixture"
	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
)

var (
	server *localfleet.Cluster
	widget = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
	// one is the object that is looked up.
	one = types.NamespacedName{Namespace: "default", Name: "one"}
)

const definition = "widgets.example.com"

func TestMain(m *testing.M) {
	os.Exit(fixture.Main(m, 0, func(ctx context.Context, dir string) (func() error, error) {
		fleet, err := fixture.StartFleet(ctx, dir, localfleet.Options{ClusterOptions: localfleet.ClusterOptions{Bare: true}})
		if err != nil {
			return nil, err
		}
		server = fleet.Management()
		return fleet.Close, nil
	}))
}

// watcher looks the object up whenever something wakes it, and remembers what it found last.
type watcher struct {
	*testing.T
	admin client.Client
	kind  *Kind[types.NamespacedName]

	mutex sync.Mutex
	found string
	looks int
}

// startWatcher starts a manager that looks the object up when the definition or the object changes, and at no other time.
func startWatcher(t *testing.T) *watcher {
	t.Helper()
	w := &watcher{T: t}
	var err error
	if w.admin, err = client.New(server.Config(), client.Options{}); err != nil {
		t.Fatal(err)
	}
	mgr, err := ctrl.NewManager(server.Config(), ctrl.Options{Cache: cache.Options{ByObject: CacheOptions()}, Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		t.Fatal(err)
	}
	built, err := controller.NewTyped("widgets", mgr, controller.TypedOptions[types.NamespacedName]{
		Reconciler: reconcile.TypedFunc[types.NamespacedName](w.look), SkipNameValidation: new(true),
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](10*time.Millisecond, time.Second),
	})
	if err != nil {
		t.Fatal(err)
	}
	w.kind = &Kind[types.NamespacedName]{
		Definition: definition, GVK: widget, New: func() client.Object { return newWidget("") }, Cache: mgr.GetCache(), Mapper: mgr.GetRESTMapper(), Controller: built,
		Wake: func(_ context.Context, object client.Object) []types.NamespacedName {
			return []types.NamespacedName{client.ObjectKeyFromObject(object)}
		},
	}
	toOne := func(context.Context, client.Object) []types.NamespacedName { return []types.NamespacedName{one} }
	if err := built.Watch(source.TypedKind[client.Object](mgr.GetCache(), Definition(), handler.TypedEnqueueRequestsFromMapFunc(toOne))); err != nil {
		t.Fatal(err)
	}
	stop := fixture.Background(mgr.Start)
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *watcher) look(ctx context.Context, key types.NamespacedName) (reconcile.Result, error) {
	object, presence, err := w.kind.Look(ctx, key)
	if key != one {
		return reconcile.Result{}, err
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.looks++
	switch {
	case err != nil:
		w.found = err.Error()
	case presence == NotInstalled:
		w.found = "not installed"
	case presence == Absent:
		w.found = "absent"
	default:
		w.found, _, _ = unstructured.NestedString(object.(*unstructured.Unstructured).Object, "spec", "color")
	}
	if meta.IsNoMatchError(err) {
		w.found = "no match"
	}
	return reconcile.Result{}, err
}

func (w *watcher) wait(want string) {
	w.Helper()
	expect.Eventually(w, "it finds "+want, func(context.Context) error {
		w.mutex.Lock()
		defer w.mutex.Unlock()
		if w.found != want {
			return fmt.Errorf("it found %q in look %d", w.found, w.looks)
		}
		return nil
	})
}

func newWidget(color string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetGroupVersionKind(widget)
	if color != "" {
		object.SetNamespace(one.Namespace)
		object.SetName(one.Name)
		object.Object["spec"] = map[string]any{"color": color}
	}
	return object
}

func newDefinition() *unstructured.Unstructured {
	anything := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": definition, "annotations": map[string]any{"large": "as kubectl leaves it"}},
		"spec": map[string]any{
			"group": widget.Group, "scope": "Namespaced", "names": map[string]any{"kind": widget.Kind, "plural": "widgets"},
			"versions": []any{map[string]any{"name": widget.Version, "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": anything}}},
		},
	}}
}

// create makes an object as soon as the API server serves its kind.
func (w *watcher) create(object client.Object) {
	w.Helper()
	expect.Eventually(w, "the kind is served", func(ctx context.Context) error {
		return w.admin.Create(ctx, object.DeepCopyObject().(client.Object))
	})
}

func (w *watcher) uninstall() {
	w.Helper()
	if err := w.admin.Delete(w.Context(), newDefinition()); err != nil {
		w.Fatal(err)
	}
	expect.Eventually(w, "the definition is gone", func(ctx context.Context) error {
		found := newDefinition()
		if err := w.admin.Get(ctx, client.ObjectKey{Name: definition}, found); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there, or %w", err)
		}
		return nil
	})
}

func TestAKindIsFollowedWheneverItIsInstalled(t *testing.T) {
	w := startWatcher(t)
	expect.Eventually(t, "without a definition it finds nothing", func(ctx context.Context) error {
		object, presence, err := w.kind.Look(ctx, one) // Nothing has woken it yet, and the cache may not be started.
		if err == nil && (object != nil || presence != NotInstalled) {
			t.Fatalf("it finds %v, %v", object, presence)
		}
		return err
	})
	for round := range 3 {
		t.Logf("round %d", round)
		if err := w.admin.Create(t.Context(), newDefinition()); err != nil {
			t.Fatal(err)
		}
		w.wait("absent")
		w.create(newWidget("red"))
		w.wait("red")
		if err := w.admin.Patch(t.Context(), newWidget("red"), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"color":"blue"}}`))); err != nil {
			t.Fatal(err)
		}
		w.wait("blue")
		if round == 1 { // An object that is deleted is not the same as a kind that is.
			if err := w.admin.Delete(t.Context(), newWidget("blue")); err != nil {
				t.Fatal(err)
			}
			w.wait("absent")
		}
		w.uninstall()
		w.wait("not installed")
	}
}

func TestOnlyNamesOfDefinitionsAreKept(t *testing.T) {
	crd := Definition()
	crd.ObjectMeta = metav1.ObjectMeta{
		Name: definition, UID: "u", ResourceVersion: "7", Annotations: map[string]string{"large": "x"}, Labels: map[string]string{"a": "b"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
	}
	kept, err := identityOnly(crd)
	if err != nil {
		t.Fatal(err)
	}
	if got := kept.(*metav1.PartialObjectMetadata).ObjectMeta; got.Name != definition || got.UID != "u" || got.ResourceVersion != "7" || got.Annotations != nil || got.Labels != nil || got.ManagedFields != nil {
		t.Errorf("it keeps %+v", got)
	}
	if other, err := identityOnly("something else"); err != nil || other != "something else" {
		t.Errorf("of something else it keeps %v, %v", other, err)
	}
}
