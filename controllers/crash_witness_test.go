package controllers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// witness has seen everything that ever happened to the objects of a kind, also what is over and left no
// trace: what was made twice looks like what was made once.
type witness struct {
	tell func(client.Object) string

	mu sync.Mutex
	// seen is what happened to each object, in its order, and now what is told of it.
	seen map[client.ObjectKey][]string
	now  map[client.ObjectKey]string
}

// ended is what a witness tells of an object that was deleted.
const ended = "gone"

// newWitness watches a kind from now on. What it tells of an object is noted whenever it changes.
func newWitness(t *testing.T, in client.WithWatch, kind client.ObjectList, tell func(client.Object) string) *witness {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	events, err := in.Watch(ctx, kind)
	if err != nil {
		t.Fatal(err)
	}
	w := &witness{tell: tell, seen: map[client.ObjectKey][]string{}, now: map[client.ObjectKey]string{}}
	over := make(chan struct{})
	go func() {
		defer close(over)
		for event := range events.ResultChan() {
			w.note(event)
		}
		if ctx.Err() == nil {
			t.Errorf("the watch of %T ended: what happened since is not known", kind)
		}
	}()
	t.Cleanup(func() {
		cancel()
		events.Stop()
		<-over
	})
	return w
}

func (w *witness) note(event watch.Event) {
	object, ok := event.Object.(client.Object)
	if !ok {
		return
	}
	key, told := client.ObjectKeyFromObject(object), w.tell(object)
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case event.Type == watch.Added:
		w.seen[key] = append(w.seen[key], strings.TrimSpace("made "+told))
	case event.Type == watch.Deleted:
		w.seen[key] = append(w.seen[key], ended)
	case told != w.now[key]:
		w.seen[key] = append(w.seen[key], told)
	}
	w.now[key] = told
}

// count is how often something happened to an object.
func (w *witness) count(key client.ObjectKey) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.seen[key])
}

// testimony is what happened in a namespace to objects with a name that starts with a prefix, a line for each.
func (w *witness) testimony(namespace, prefix string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var lines []string
	for key, happened := range w.seen {
		if key.Namespace == namespace && strings.HasPrefix(key.Name, prefix) {
			lines = append(lines, fmt.Sprintf("%s was %s", key.Name, strings.Join(happened, ", ")))
		}
	}
	slices.Sort(lines)
	return lines
}

func nothing(client.Object) string { return "" }
