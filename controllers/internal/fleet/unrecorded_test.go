package fleet

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

func TestObjectsThatNoTargetClaimsAreToldAfterAWhile(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	tracker := NewTracker(func(Owner, bool) {})
	key := func(name string) objects.Key {
		return objects.Key{GroupKind: schema.GroupKind{Kind: "ConfigMap"}, Namespace: "default", Name: name}
	}
	expect := func(at time.Time, want Unrecorded) {
		t.Helper()
		if got := tracker.Unrecorded(at); got != want {
			t.Errorf("%s after noon there is %+v, and not %+v", at.Sub(noon), got, want)
		}
	}
	later := noon.Add(unrecordedAfter)
	for _, name := range []string{"b", "a", "claimed", "deleted"} {
		tracker.noteUnrecorded(key(name), false, noon)
	}
	tracker.Claim(release, key("claimed"))
	tracker.noteUnrecorded(key("claimed"), false, noon)
	tracker.noteUnrecorded(key("deleted"), true, noon)
	tracker.noteUnrecorded(key("a"), false, later)
	expect(later.Add(-time.Millisecond), Unrecorded{})
	expect(later, Unrecorded{Count: 2, Examples: "ConfigMap default/a, ConfigMap default/b"})

	tracker.retainUnrecorded(key("").GroupKind, map[objects.Key]bool{key("b"): true})
	expect(later, Unrecorded{Count: 1, Examples: "ConfigMap default/b"})
	tracker.forget()
	expect(later, Unrecorded{})

	for i := range 2 * MaxUnrecorded {
		tracker.noteUnrecorded(key(fmt.Sprintf("many-%04d", i)), false, noon)
	}
	tracker.noteUnrecorded(key(strings.Repeat("x", 1<<20)), false, noon)
	if got := tracker.Unrecorded(later); got.Count != MaxUnrecorded || len(got.Examples) > 200 {
		t.Errorf("of too many there are %d, with %d bytes of examples", got.Count, len(got.Examples))
	}
}

// Both the list and the watch find what no target claims; what a controller or Helm made is left out.
func TestLabelledObjectsThatNoTargetClaimsAreFound(t *testing.T) {
	r := newRig(t, timeouts())
	prefix := fmt.Sprintf("unrecorded-%d-", time.Now().UnixNano())
	listed := r.labelled(prefix+"listed", nil)
	r.labelled(prefix+"owned", func(made *corev1.ConfigMap) {
		made.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Service", Name: "s", UID: "u", Controller: ptr.To(true)}}
	})
	r.labelled(prefix+"hook", func(made *corev1.ConfigMap) { made.Annotations = map[string]string{"helm.sh/hook": "pre-install"} })
	r.labelled(prefix+"record", func(made *corev1.ConfigMap) { made.Labels["owner"] = "helm" })
	cluster := r.connected(shared.access(hostOf(t, shared.first)))
	r.watched(cluster)
	expect := func(what string, want ...string) {
		t.Helper()
		r.eventually(what, func() bool {
			return slices.Equal(unrecorded(cluster.Tracker, prefix), want)
		})
	}
	expect("the list finds one", listed.Name)
	watched := r.labelled(prefix+"watched", nil)
	expect("the watch finds another one", listed.Name, watched.Name)

	cluster.Tracker.Claim(release, keyOf(listed))
	expect("one is claimed", watched.Name)
	taken := []byte(`{"metadata":{"labels":{"` + metav1alpha1.LabelManagedBy + `":null}}}`)
	if _, err := r.admin.CoreV1().ConfigMaps("default").Patch(t.Context(), watched.Name, types.MergePatchType, taken, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	expect("the label is taken off the other")
}

// labelled makes a ConfigMap with the installation's label.
func (r *rig) labelled(name string, change func(*corev1.ConfigMap)) *corev1.ConfigMap {
	r.Helper()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{metav1alpha1.LabelManagedBy: installation}}}
	if change != nil {
		change(object)
	}
	made, err := r.admin.CoreV1().ConfigMaps("default").Create(r.Context(), object, metav1.CreateOptions{})
	if err != nil {
		r.Fatal(err)
	}
	return made
}

// unrecorded are names with a prefix, in their order.
func unrecorded(tracker *Tracker, prefix string) []string {
	tracker.mu.Lock()
	defer tracker.mu.Unlock()
	var names []string
	for key := range tracker.unrecorded {
		if strings.HasPrefix(key.Name, prefix) {
			names = append(names, key.Name)
		}
	}
	slices.Sort(names)
	return names
}
