package standstill

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/podstate"
	"github.com/daytwo-dev/daytwo/controllers/internal/times"
)

const (
	// DefaultPatience is how long an object may be unhealthy before it stands still. Most images are there by then.
	DefaultPatience = 30 * time.Second
	// The pods are read again after twice the time that they were read after before, and at the latest after longest.
	longest = 10 * time.Minute
)

// Cluster reads from a workload cluster.
type Cluster interface {
	// Lookup reads one whole object.
	Lookup(ctx context.Context, ref objects.Ref) (map[string]any, error)
	// Pods reads the pods that a label selector selects in a namespace, at most 500.
	Pods(ctx context.Context, namespace, selector string) ([]corev1.Pod, error)
}

// Standstill is an object that has been unhealthy for a while. The zero value is none.
type Standstill struct {
	// Object that is unhealthy.
	Object objects.Ref
	// Since is when it was seen to be so first.
	Since time.Time
	// Why is its pods' own reason; empty if it has no pods, or none says why.
	Why string
}

// Memory is what is remembered of the first unhealthy object of a target. The zero value remembers none. It may be lost: then
// the pods are read once more.
type Memory struct {
	object objects.Ref
	inputs string
	since  time.Time
	// next is when the pods are to be read, pause how long after the time before.
	next  time.Time
	pause time.Duration
	why   string
}

// Unhealthy is what was found out about a target.
type Unhealthy struct {
	// Object that is unhealthy.
	Object objects.Ref
	// Inputs are the hash of what the target is made from: another revision begins anew.
	Inputs string
	// Since is since when the target has been unhealthy, by its status; zero if it says nothing.
	Since time.Time
}

// Look says whether the object stands still, and when to look again though nothing happens; zero for never. It reads the
// pods if that is due. What cannot be read is left out.
func (m *Memory) Look(ctx context.Context, cluster Cluster, found Unhealthy, patience time.Duration, now time.Time) (Standstill, time.Time) {
	m.begin(found, now)
	if standsAt := m.since.Add(patience); now.Before(standsAt) {
		return Standstill{}, standsAt
	}
	if !hasPods(found.Object) {
		return Standstill{Object: m.object, Since: m.since}, time.Time{}
	}
	if !now.Before(m.next) {
		m.pause = min(max(2*m.pause, patience), longest)
		m.next, m.why = now.Add(m.pause), read(ctx, cluster, m.object)
	}
	return Standstill{Object: m.object, Since: m.since, Why: m.why}, m.next
}

// begin takes in another object, or another revision. After a start of the manager, the status tells since when.
func (m *Memory) begin(found Unhealthy, now time.Time) {
	if m.object == found.Object && m.inputs == found.Inputs {
		return
	}
	since := now
	if m.object == (objects.Ref{}) {
		since = times.Earliest(found.Since, now)
	}
	*m = Memory{object: found.Object, inputs: found.Inputs, since: since}
}

// Forget is for a target that is healthy. What becomes unhealthy afterwards does so then.
func (m *Memory) Forget() { *m = Memory{} }

// hasPods is whether pods are made for objects of a kind, or it is one.
func hasPods(ref objects.Ref) bool {
	switch ref.Group {
	case "":
		return ref.Kind == "Pod"
	case "apps":
		return slices.Contains([]string{"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"}, ref.Kind)
	case "batch":
		return ref.Kind == "Job"
	}
	return false
}

// read asks for the pods of an object, and what keeps them; empty where that cannot be read.
func read(ctx context.Context, cluster Cluster, ref objects.Ref) string {
	object, err := cluster.Lookup(ctx, ref)
	if err != nil {
		return ""
	}
	if ref.Kind == "Pod" {
		pod := corev1.Pod{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, &pod); err != nil {
			return ""
		}
		return podstate.FirstReason([]corev1.Pod{pod})
	}
	selector := selectorOf(object)
	if selector == nil || selector.Empty() {
		return ""
	}
	pods, err := cluster.Pods(ctx, ref.Namespace, selector.String())
	if err != nil {
		return ""
	}
	return podstate.FirstReason(pods)
}

// selectorOf is the selector of a workload's pods; nil if it has none that can be read.
func selectorOf(object map[string]any) labels.Selector {
	found, has, err := unstructured.NestedMap(object, "spec", "selector")
	if err != nil || !has {
		return nil
	}
	declared := metav1.LabelSelector{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found, &declared); err != nil {
		return nil
	}
	selector, err := metav1.LabelSelectorAsSelector(&declared)
	if err != nil {
		return nil
	}
	return selector
}
