package fleet

import (
	"cmp"
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/bounded"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
)

// Selection is objects that a target wants to see although Daytwo does not own them, such as the backups that a schedule
// made.
type Selection struct {
	Kind schema.GroupVersionKind
	// Namespace of the objects; empty for all.
	Namespace string
	// Selector of their labels, in the syntax of kubectl --selector; empty for all.
	Selector string
	// Fields is a selector of their fields, in the syntax of kubectl --field-selector; empty for all. The API server knows
	// few fields of a kind.
	Fields string
	// Limit is how many objects are kept, from 1 to 500.
	Limit int
	// Omit is a field of the objects that is not kept, such as "spec"; empty for none.
	Omit string
	// Reducer takes out of the objects what is not kept; nil for nothing.
	Reducer Reducer
}

// Reducer decides what is kept of an object. A Selection is compared by it, so its type is a struct without pointers.
type Reducer interface {
	// Reduce changes an object to what is kept of it. One that is spent gives way to others where there are too many, and
	// is not missed then.
	Reduce(object *unstructured.Unstructured) (spent bool)
}

// check returns an error if the selection cannot be watched.
func (s Selection) check() error {
	if s.Limit < 1 || s.Limit > bounded.MaxListed {
		return fmt.Errorf("observe %s: the limit is %d; use 1 to %d", s.Kind.Kind, s.Limit, bounded.MaxListed)
	}
	if _, err := labels.Parse(s.Selector); err != nil {
		return fmt.Errorf("observe %s: selector %q: %w", s.Kind.Kind, s.Selector, err)
	}
	if _, err := fields.ParseSelector(s.Fields); err != nil {
		return fmt.Errorf("observe %s: field selector %q: %w", s.Kind.Kind, s.Fields, err)
	}
	return nil
}

// Observed is what a watch shows of a selection.
type Observed struct {
	tracker.KindState
	// Objects by namespace and name, without managedFields. They are shared: change copies.
	Objects []*unstructured.Unstructured
	// Incomplete: the cluster has more objects that are not spent than the limit, or larger ones than are kept: 1 MiB and
	// 20,000 values together, without what is not kept of them. Which ones are kept is not defined. It is looked again after 10 minutes at the latest.
	Incomplete bool
}

// Observe returns what a watch of a selection shows so far, and sees to it that there is one as long as the connection
// lasts, or until the owner does not retain it. The owner is told of each change, as of one in the health of its own
// objects. Owners of the same selection share a watch. meta.IsNoMatchError tells that the cluster does not serve the kind.
//
// What is observed is the cluster's word: whoever has rights there writes such objects.
func (c *Cluster) Observe(ctx context.Context, owner tracker.Owner, selection Selection) (Observed, error) {
	if err := selection.check(); err != nil {
		return Observed{}, err
	}
	if w := c.observation(owner, selection); w != nil {
		return w.observed(), nil
	}
	// A kind that cannot be discovered is looked up again by its watch, which tells of the failure.
	if _, err := c.Resource(ctx, selection.Kind); meta.IsNoMatchError(err) {
		return Observed{}, err
	}
	return c.startObservation(owner, selection).observed(), nil
}

// observation adds an owner to a watch that runs; nil if none does.
func (c *Cluster) observation(owner tracker.Owner, selection Selection) *selectionWatch {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.observations[selection]
	if w == nil || !w.running {
		return nil
	}
	w.owners[owner] = true
	return w
}

func (c *Cluster) startObservation(owner tracker.Owner, selection Selection) *selectionWatch {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.observations[selection]
	if w == nil {
		w = newSelectionWatch(c, selection)
		c.observations[selection] = w
	}
	w.owners[owner] = true
	if w.running || c.ctx.Err() != nil {
		return w
	}
	w.running = true
	ctx, cancel := context.WithCancel(c.ctx)
	w.cancel = cancel
	c.running.Go(func() {
		defer cancel()
		w.run(ctx)
	})
	return w
}

// RetainObservations ends an owner's interest in all selections but those for which keep is true. A watch in which nobody
// is interested ends.
func (c *Cluster) RetainObservations(owner tracker.Owner, keep func(Selection) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for selection, w := range c.observations {
		if !w.owners[owner] || keep(selection) {
			continue
		}
		if delete(w.owners, owner); len(w.owners) > 0 {
			continue
		}
		delete(c.observations, selection)
		if w.cancel != nil {
			w.cancel()
		}
	}
}

// ownersOf a watch, who are to hear of a change.
func (c *Cluster) ownersOf(w *selectionWatch) []tracker.Owner {
	c.mu.Lock()
	defer c.mu.Unlock()
	owners := make([]tracker.Owner, 0, len(w.owners))
	for owner := range w.owners {
		owners = append(owners, owner)
	}
	return owners
}

func byName(a, b *unstructured.Unstructured) int {
	return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
}
