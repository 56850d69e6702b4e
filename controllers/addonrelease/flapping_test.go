package addonrelease

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daytwo-dev/daytwo/apis"
	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/throttle"
)

// valves defines, in a group, a kind that has a status, which no controller writes.
func valves(group string) string {
	return fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: valves.%[1]s}
spec:
  group: %[1]s
  scope: Namespaced
  names: {kind: Valve, plural: valves}
  versions:
  - {name: v1, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`, group)
}

const valve = `
apiVersion: flapping.test/v1
kind: Valve
metadata: {name: main}
spec: {size: 3}
`

// What runs in a customer's cluster may become healthy and unhealthy as often as it likes.
func TestHealthThatFlapsIsWrittenSeldomAndAtLast(t *testing.T) {
	t.Parallel()
	define(t, valves("flapping.test"))
	a := newAddon(t, valve)
	a.waitReady()
	a.setValve(metav1.ConditionFalse, 0)
	a.waitFor(metav1alpha1.ConditionReady, metav1.ConditionFalse, metav1alpha1.ReasonProgressing)

	begun, writes := time.Now(), a.watchWrites()
	const flaps = 40
	for flap := range flaps {
		is := metav1.ConditionTrue
		if flap%2 == 1 {
			is = metav1.ConditionFalse
		}
		a.setValve(is, flap)
		a.waitSeen(is)
	}
	// Beside one after each pause: one at the beginning, and each that tells a state that was not told yet.
	told, news := writes.told()
	if most := news + 1 + int(time.Since(begun)/throttle.Health.First); len(told) > most {
		t.Errorf("%d changes of health are %d writes in %s, want %d at most, %d of them news:\n%s",
			flaps, len(told), time.Since(begun), most, news, strings.Join(told, "\n"))
	}
	if news > flaps/4 {
		t.Errorf("%d changes between two states of health are news %d times:\n%s", flaps, news, strings.Join(told, "\n"))
	}
	// The last state is written in the end, though nothing else happens.
	a.setValve(metav1.ConditionTrue, flaps)
	release := a.waitReady()
	healthy := meta.FindStatusCondition(release.Status.Conditions, metav1alpha1.ConditionHealthy)
	if healthy == nil || healthy.Status != metav1.ConditionTrue {
		t.Errorf("Healthy is %+v", healthy)
	}
}

// News is told at once, however much of what is no news was told just before.
func TestNewsIsToldAtOnceWhileHealthFlaps(t *testing.T) {
	t.Parallel()
	define(t, valves("news.test"))
	text := "apiVersion: news.test/v1\nkind: Valve\nmetadata: {name: main}\nspec: {size: %d}\n"
	a := newAddon(t, fmt.Sprintf(text, 3))
	a.waitReady()
	for size := 4; size < 8; size++ {
		a.apply(fmt.Sprintf(text, size))
		if release := a.waitReady(); release.Status.Revision != release.Spec.Revision {
			t.Errorf("Ready of revision %s", release.Status.Revision)
		}
	}
}

// setValve plays the controller of valves.
func (a *addon) setValve(is metav1.ConditionStatus, flap int) {
	a.t.Helper()
	object := a.valve()
	if err := shared.workload.Get(a.t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
		a.t.Fatal(err)
	}
	before := object.DeepCopy()
	object.Object["status"] = map[string]any{
		"observedGeneration": object.GetGeneration(),
		"conditions":         []any{map[string]any{"type": "Ready", "status": string(is), "reason": "Flap", "message": fmt.Sprint("flap ", flap)}},
	}
	if err := shared.workload.Status().Patch(a.t.Context(), object, client.MergeFrom(before)); err != nil {
		a.t.Fatal(err)
	}
}

func (a *addon) valve() *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(schema.GroupVersionKind{Group: "flapping.test", Version: "v1", Kind: "Valve"})
	object.SetNamespace(a.namespace)
	object.SetName("main")
	return object
}

// waitSeen waits until the metric of the release tells a health, which is set with every reconcile.
func (a *addon) waitSeen(is metav1.ConditionStatus) {
	a.t.Helper()
	want := 0.0
	if is == metav1.ConditionTrue {
		want = 1
	}
	eventually(a.t, fmt.Sprintf("the manager knows that health is %s", is), func() (bool, string) {
		families, err := shared.registry.Gather()
		if err != nil {
			return false, err.Error()
		}
		for _, family := range families {
			if family.GetName() != "daytwo_target_ready" {
				continue
			}
			for _, one := range family.GetMetric() {
				for _, label := range one.GetLabel() {
					if label.GetName() == "policy" && label.GetValue() == a.name {
						return one.GetGauge().GetValue() == want, fmt.Sprint("it is ", one.GetGauge().GetValue())
					}
				}
			}
		}
		return false, "there is no such metric"
	})
}

// statusWrites are what the API server stores of a release, beginning with what was stored already.
type statusWrites struct {
	mu     sync.Mutex
	stored [][]metav1.Condition
}

// told returns the conditions of each write, and how many of the writes tell a status and reason that none before did.
func (w *statusWrites) told() (told []string, news int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := sets.Set[string]{}
	for i, conditions := range w.stored {
		facts := sets.Set[string]{}
		for _, one := range conditions {
			facts.Insert(fmt.Sprintf("%s=%s %s", one.Type, one.Status, one.Reason))
		}
		if i > 0 {
			told = append(told, strings.Join(sets.List(facts), ", "))
			if !before.IsSuperset(facts) {
				news++
			}
		}
		before = before.Union(facts)
	}
	return told, news
}

// watchWrites keeps what the API server stores of the release from now on.
func (a *addon) watchWrites() *statusWrites {
	a.t.Helper()
	watching, err := client.NewWithWatch(shared.config, client.Options{Scheme: apis.NewScheme()})
	if err != nil {
		a.t.Fatal(err)
	}
	release := a.get()
	ctx, cancel := context.WithCancel(context.Background())
	a.t.Cleanup(cancel)
	events, err := watching.Watch(ctx, &addonsv1alpha1.AddonReleaseList{}, client.InNamespace(release.Namespace), &client.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("metadata.name", release.Name),
		Raw:           &metav1.ListOptions{ResourceVersion: release.ResourceVersion},
	})
	if err != nil {
		a.t.Fatal(err)
	}
	writes := &statusWrites{stored: [][]metav1.Condition{release.Status.Conditions}}
	go func() {
		for event := range events.ResultChan() {
			if stored, ok := event.Object.(*addonsv1alpha1.AddonRelease); ok {
				writes.mu.Lock()
				writes.stored = append(writes.stored, stored.Status.Conditions)
				writes.mu.Unlock()
			}
		}
	}()
	return writes
}
