package fleet

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
	"github.com/daytwo-dev/daytwo/controllers/internal/kubeconfig"
)

// observer is a target that observes ConfigMaps, and counts what it is told.
type observer struct {
	*rig
	cluster   *Cluster
	selection Selection
	told      atomic.Int64
}

// observes connects to a cluster and observes in it.
func (r *rig) observes(access kubeconfig.Access, selection Selection) *observer {
	r.Helper()
	o := &observer{rig: r, selection: selection}
	r.fleet.Subscribe(Subscriber{Object: func(owner tracker.Owner, drifted bool) {
		if owner == release && !drifted {
			o.told.Add(1)
		}
	}})
	o.cluster = r.connected(access)
	return o
}

func (o *observer) observed() Observed {
	o.Helper()
	seen, err := o.cluster.Observe(o.Context(), release, o.selection)
	if err != nil {
		o.Fatal(err)
	}
	return seen
}

func (o *observer) names() []string {
	o.Helper()
	var names []string
	for _, object := range o.observed().Objects {
		names = append(names, object.GetName())
	}
	return names
}

func (o *observer) awaits(names ...string) {
	o.Helper()
	o.eventually(fmt.Sprintf("it shows %v", names), func() bool { return o.observed().Listed && slices.Equal(o.names(), names) })
}

// backups is a namespace of the first cluster, for ConfigMaps that stand for somebody else's objects.
func (r *rig) backups() string {
	r.Helper()
	namespace, err := r.admin.CoreV1().Namespaces().Create(r.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "observed-"}}, metav1.CreateOptions{})
	if err != nil {
		r.Fatal(err)
	}
	return namespace.Name
}

func (r *rig) backup(namespace, name, schedule string) *corev1.ConfigMap {
	r.Helper()
	object, err := r.admin.CoreV1().ConfigMaps(namespace).Create(r.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"schedule": schedule}}, Data: map[string]string{"phase": "InProgress"},
	}, metav1.CreateOptions{})
	if err != nil {
		r.Fatal(err)
	}
	return object
}

func (r *rig) remove(object *corev1.ConfigMap) {
	r.Helper()
	if err := r.admin.CoreV1().ConfigMaps(object.Namespace).Delete(r.Context(), object.Name, metav1.DeleteOptions{}); err != nil {
		r.Fatal(err)
	}
}

func TestObjectsOfOthersAreObservedByTheirLabels(t *testing.T) {
	t.Parallel()
	r := newRig(t, timeouts())
	namespace := r.backups()
	first := r.backup(namespace, "first", "daily")
	r.backup(namespace, "weekly", "weekly")
	r.backup(r.backups(), "elsewhere", "daily")
	o := r.observes(shared.access(hostOf(t, shared.first)), Selection{Kind: configMapKind, Namespace: namespace, Selector: "schedule=daily", Limit: 10})
	o.awaits("first")

	before := o.told.Load()
	r.backup(namespace, "second", "daily")
	o.awaits("first", "second")
	if o.told.Load() == before {
		t.Error("the owner was not told")
	}

	first.Data["phase"] = "Completed"
	if _, err := r.admin.CoreV1().ConfigMaps(namespace).Update(t.Context(), first, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	o.eventually("the change shows", func() bool {
		object := o.observed().Objects[0]
		phase, _, _ := unstructured.NestedString(object.Object, "data", "phase")
		return phase == "Completed" && object.GetManagedFields() == nil
	})
	r.remove(first)
	o.awaits("second")
	if o.observed().Incomplete {
		t.Error("all that there is shows, and yet it is said to be incomplete")
	}
}

func TestMoreObjectsThanTheLimitAreIncompleteUntilTheyAreFewer(t *testing.T) {
	t.Parallel()
	r := newRig(t, timeouts())
	namespace := r.backups()
	all := map[string]*corev1.ConfigMap{}
	for _, name := range []string{"a", "b", "c"} {
		all[name] = r.backup(namespace, name, "daily")
	}
	o := r.observes(shared.access(hostOf(t, shared.first)), Selection{Kind: configMapKind, Namespace: namespace, Selector: "schedule=daily", Limit: 2})
	o.eventually("two of three show", func() bool { seen := o.observed(); return seen.Incomplete && len(seen.Objects) == 2 })
	kept := o.names()
	r.remove(all[kept[0]])
	left := slices.DeleteFunc([]string{"a", "b", "c"}, func(name string) bool { return name == kept[0] })
	o.awaits(left...)
	o.eventually("it is complete", func() bool { return !o.observed().Incomplete })
}

func TestWatchesOfSelectionsAreSharedAndEndWithTheirOwners(t *testing.T) {
	t.Parallel()
	r := newRig(t, timeouts())
	server := newScripted(t, listOf("10", settingsAt("5")), nil)
	o := r.observes(server.access(), Selection{Kind: configMapKind, Limit: 10})
	o.awaits("settings")
	other := release
	other.Name = "another"
	if _, err := o.cluster.Observe(t.Context(), other, o.selection); err != nil {
		t.Fatal(err)
	}
	if lists, _ := server.requests(); lists != 1 {
		t.Errorf("there were %d lists for two owners", lists)
	}

	none := func(Selection) bool { return false }
	o.cluster.RetainObservations(release, none)
	if seen, err := o.cluster.Observe(t.Context(), other, o.selection); err != nil || len(seen.Objects) != 1 {
		t.Errorf("the other owner sees %+v, %v", seen, err)
	}
	o.cluster.RetainObservations(other, none)
	o.awaits("settings")
	if lists, _ := server.requests(); lists != 2 {
		t.Errorf("there were %d lists, want one anew after all owners were gone", lists)
	}
}

func TestLargeObjectsOfOthersAreNotKept(t *testing.T) {
	t.Parallel()
	r := newRig(t, timeouts())
	large := func(name, filling string) string {
		return fmt.Sprintf(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"namespace":"cache","name":%q,"uid":"1","resourceVersion":"5"},"data":%s}`, name, filling)
	}
	bytes, values := `{"a":"`+strings.Repeat("x", maxSelected.Bytes)+`"}`, `{"a":[`+strings.Repeat("{},", maxSelected.Values)+`{}]}`
	server := newScripted(t, listOf("10", large("bytes", bytes), large("values", values), settingsAt("5")), nil)
	o := r.observes(server.access(), Selection{Kind: configMapKind, Limit: 10})
	o.awaits("settings")
	if !o.observed().Incomplete {
		t.Error("two objects do not show, and yet it is said to be complete")
	}
}

func TestASelectionThatCannotBeListedIsUnknown(t *testing.T) {
	t.Parallel()
	r := newRig(t, timeouts())
	server := newScripted(t, refuse(http.StatusForbidden, "may not list"), nil)
	o := r.observes(server.access(), Selection{Kind: configMapKind, Limit: 10})
	o.eventually("it is unknown", func() bool { return strings.Contains(o.observed().Unknown, "may not list") })
	server.answer(listOf("10", settingsAt("5")), nil)
	o.awaits("settings")
	o.eventually("it is known", func() bool { return o.observed().Unknown == "" })
}

func TestSelectionsThatCannotBeObserved(t *testing.T) {
	t.Parallel()
	r := newRig(t, timeouts())
	cluster := r.connected(shared.access(hostOf(t, shared.first)))
	unserved := schema.GroupVersionKind{Group: "velero.io", Version: "v1", Kind: "Backup"}
	if _, err := cluster.Observe(t.Context(), release, Selection{Kind: unserved, Limit: 1}); !meta.IsNoMatchError(err) {
		t.Errorf("a kind that is not served: %v", err)
	}
	for text, selection := range map[string]Selection{
		"the limit is 0; use 1 to 500":   {Kind: configMapKind},
		"the limit is 501; use 1 to 500": {Kind: configMapKind, Limit: 501},
		`selector "a=b=c"`:               {Kind: configMapKind, Limit: 1, Selector: "a=b=c"},
		`field selector "a"`:             {Kind: configMapKind, Limit: 1, Fields: "a"},
	} {
		if _, err := cluster.Observe(t.Context(), release, selection); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
