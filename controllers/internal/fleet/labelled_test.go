package fleet

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
)

// Both the list and the watch find what no target claims; what a controller or Helm made is left out.
func TestLabelledObjectsThatNoTargetClaimsAreFound(t *testing.T) {
	r := newRig(t, timeouts())
	namespace := fmt.Sprintf("a-%d", time.Now().UnixNano())
	made := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if _, err := r.admin.CoreV1().Namespaces().Create(t.Context(), made, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	listed := r.labelled(namespace, "listed", nil)
	r.labelled(namespace, "owned", func(made *corev1.ConfigMap) {
		made.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Service", Name: "s", UID: "u", Controller: ptr.To(true)}}
	})
	r.labelled(namespace, "hook", func(made *corev1.ConfigMap) { made.Annotations = map[string]string{"helm.sh/hook": "pre-install"} })
	r.labelled(namespace, "record", func(made *corev1.ConfigMap) { made.Labels["owner"] = "helm" })
	cluster := r.connected(shared.access(hostOf(t, shared.first)))
	r.watched(cluster)
	expect := func(what string, want ...string) {
		t.Helper()
		r.eventually(what, func() bool {
			return slices.Equal(unrecorded(cluster.Tracker, namespace), want)
		})
	}
	expect("the list finds one", listed.Name)
	watched := r.labelled(namespace, "watched", nil)
	expect("the watch finds another one", listed.Name, watched.Name)

	cluster.Tracker.Claim(release, keyOf(listed))
	expect("one is claimed", watched.Name)
	taken := []byte(`{"metadata":{"labels":{"` + metav1alpha1.LabelManagedBy + `":null}}}`)
	if _, err := r.admin.CoreV1().ConfigMaps(namespace).Patch(t.Context(), watched.Name, types.MergePatchType, taken, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	expect("the label is taken off the other")
}

// labelled makes a ConfigMap with the installation's label.
func (r *rig) labelled(namespace, name string, change func(*corev1.ConfigMap)) *corev1.ConfigMap {
	r.Helper()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{metav1alpha1.LabelManagedBy: installation}}}
	if change != nil {
		change(object)
	}
	made, err := r.admin.CoreV1().ConfigMaps(namespace).Create(r.Context(), object, metav1.CreateOptions{})
	if err != nil {
		r.Fatal(err)
	}
	return made
}

// unrecorded are the names in a namespace that comes before others, in their order.
func unrecorded(tracker *tracker.Tracker, namespace string) (names []string) {
	for _, name := range strings.Split(tracker.Unrecorded(time.Now().Add(time.Hour)).Examples, ", ") {
		if own, is := strings.CutPrefix(name, "ConfigMap "+namespace+"/"); is {
			names = append(names, own)
		}
	}
	return names
}
