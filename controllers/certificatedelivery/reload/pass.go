package reload

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
	"github.com/daytwo-dev/daytwo/controllers/internal/truncate"
)

const (
	// maxOfKind is how many workloads of a kind a namespace may have.
	maxOfKind = 500
	// maxOfPass is how many workloads of a cluster one pass looks at, about: it ends after the namespace in which it comes to
	// that.
	maxOfPass = 5000
	// maxTold is how many workloads are told of by name, and maxText how long what is told of one is, in bytes.
	maxTold = 5
	maxText = 400
	// maxRestarts is how often a workload is annotated for the same content: who takes the annotation away wants no restart.
	maxRestarts = 3
)

// Cluster is what a pass needs of a workload cluster: see fleet.Cluster.
type Cluster interface {
	Each(ctx context.Context, kind schema.GroupVersionKind, namespace, selector string, limit int, take func(*unstructured.Unstructured) error) error
	ApplyAs(ctx context.Context, manager string, ref objects.Ref, uid types.UID, body []byte) (*metav1.PartialObjectMetadata, error)
	ReloadManager(id string) string
}

// Pass is one look at the workloads of a cluster.
type Pass struct {
	Cluster Cluster
	// Objects that are to be loaded.
	Objects []Object
	// May is whether workloads may be restarted now. It is asked before each restart.
	May func() bool
	// Before is what came of the pass before, for the same objects.
	Before Result
}

// Result is what came of a pass.
type Result struct {
	// Held are the workloads that wait for a maintenance window, Waiting those whose rollout is waited for, and Refused what
	// cannot be done.
	Held, Waiting, Refused Names
	// Looked: there was a pass. Unseen: there are namespaces at which it did not look.
	Looked, Unseen bool

	// finished are the namespaces in which nothing is waited for, next is where the next pass begins.
	finished map[string]bool
	next     string
	restarts map[types.UID]int
}

// IsComplete is whether nothing is waited for.
func (r Result) IsComplete() bool {
	return r.Looked && !r.Unseen && r.open() == 0
}

// open is how much is waited for.
func (r Result) open() int { return r.Held.Count + r.Waiting.Count + r.Refused.Count }

// IsHeld is whether nothing but a maintenance window is waited for.
func (r Result) IsHeld() bool {
	return !r.Unseen && r.Held.Count > 0 && r.Waiting.Count+r.Refused.Count == 0
}

// Names are some of what there is, and how much there is.
type Names struct {
	Count int
	First []string
}

func (n *Names) add(text string) {
	n.Count++
	if len(n.First) < maxTold {
		n.First = append(n.First, truncate.Message(text, maxText))
	}
}

// Run looks at the workloads, restarts those that have not loaded the objects, and tells what is waited for.
func (p Pass) Run(ctx context.Context) Result {
	done := Result{Looked: true, finished: maps.Clone(p.Before.finished), restarts: maps.Clone(p.Before.restarts)}
	if done.finished == nil {
		done.finished, done.restarts = map[string]bool{}, map[types.UID]int{}
	}
	byNamespace := map[string][]Object{}
	for _, object := range p.Objects {
		if !done.finished[object.Namespace] {
			byNamespace[object.Namespace] = append(byNamespace[object.Namespace], object)
		}
	}
	seen := 0
	for _, namespace := range from(slices.Sorted(maps.Keys(byNamespace)), p.Before.next) {
		if ctx.Err() != nil || seen >= maxOfPass {
			done.Unseen, done.next = true, namespace
			return done
		}
		seen += p.runIn(ctx, namespace, byNamespace[namespace], &done)
	}
	return done
}

// from turns a list so that it begins with the first name that is not before another, and ends with those before it.
func from(names []string, first string) []string {
	at, _ := slices.BinarySearch(names, first)
	return slices.Concat(names[at:], names[:at])
}

// runIn looks at one namespace, and returns at how many workloads it did.
func (p Pass) runIn(ctx context.Context, namespace string, objects []Object, done *Result) int {
	seen, before := 0, done.open()
	for _, kind := range []schema.GroupVersionKind{deployments, statefulSets, daemonSets} {
		steps, count, err := p.plan(ctx, kind, namespace, objects)
		seen += count
		for _, next := range steps {
			p.carryOut(ctx, next, done)
		}
		if err != nil {
			done.Refused.add(fmt.Sprintf("%ss of namespace %s: %s", kind.Kind, namespace, explain(err)))
		}
	}
	if done.open() == before {
		done.finished[namespace] = true
	}
	return seen
}

// plan reads the workloads of a kind one by one, and keeps what is to be done about each. It returns how many there are.
func (p Pass) plan(ctx context.Context, kind schema.GroupVersionKind, namespace string, objects []Object) (steps []*step, seen int, err error) {
	err = p.Cluster.Each(ctx, kind, namespace, "", maxOfKind, func(object *unstructured.Unstructured) error {
		seen++
		if object.GetNamespace() != namespace {
			return errors.New("the answer has objects of other namespaces")
		}
		found, err := read(kind, object)
		if err != nil {
			return err
		}
		if next := planFor(found, objects); next != nil {
			steps = append(steps, next)
		}
		return nil
	})
	return steps, seen, err
}

// carryOut restarts a workload, if it is to be and may be.
func (p Pass) carryOut(ctx context.Context, next *step, done *Result) {
	switch {
	case len(next.restartFor) == 0:
		done.Waiting.add(fmt.Sprintf("%s: %s", next.Ref, next.waits))
		return
	case !p.May():
		done.Held.add(next.String())
		return
	case done.restarts[next.uid] >= maxRestarts:
		done.Refused.add(fmt.Sprintf("%s was annotated %d times, and each time somebody took the annotation away: restart it by hand, or with whatever keeps its template", next.Ref, maxRestarts))
		return
	}
	for _, object := range next.restartFor {
		if err := p.annotate(ctx, next, object); err != nil {
			done.Refused.add(fmt.Sprintf("%s: %s", next.Ref, explain(err)))
			return
		}
	}
	done.restarts[next.uid]++
	done.Waiting.add(fmt.Sprintf("%s: its controller has not seen the change yet", next.Ref))
}

func (p Pass) annotate(ctx context.Context, next *step, object Object) error {
	body, err := annotating(next.Ref, object)
	if err != nil {
		return err
	}
	_, err = p.Cluster.ApplyAs(ctx, p.Cluster.ReloadManager(object.id()), next.Ref, next.uid, body)
	return err
}

// explain is an error for people: what the API server says, and what to do.
func explain(err error) string {
	text := apply.Explain(objects.Ref{}, err)
	switch {
	case apierrors.IsForbidden(err):
		return text + "; the kubeconfig of the cluster needs the verbs list and patch on deployments, statefulsets and daemonsets of apps"
	case apierrors.IsConflict(err):
		return text + "; somebody else sets the annotation: remove it there"
	}
	return text
}
