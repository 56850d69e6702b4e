package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/bounded"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/resources"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
	"github.com/daytwo-dev/daytwo/controllers/internal/untrusted"
)

// maxSelected is how large the objects of a selection may be together: decoded, that many values take up to 6 MiB.
var maxSelected = bounded.SizeLimit{Bytes: 1 << 20, Values: 20_000}

// errIncomplete: an object went or is spent, and others that were not kept may take its place.
var errIncomplete = errors.New("fewer objects are kept than there are")

// selectionWatch keeps the objects of a selection, up to its limits.
type selectionWatch struct {
	watchLoop
	selection Selection

	// owners, running and cancel are guarded by the cluster's mutex.
	owners  map[tracker.Owner]bool
	running bool
	cancel  context.CancelFunc

	// listing is what a list shows, while it is read.
	listing selected

	mu    sync.Mutex
	state tracker.KindState
	kept  selected
}

func newSelectionWatch(c *Cluster, selection Selection) *selectionWatch {
	w := &selectionWatch{selection: selection, owners: map[tracker.Owner]bool{}, kept: newSelected(selection)}
	w.watchLoop = newWatchLoop(c, selection.Kind, w)
	return w
}

// observed is what is known at the moment.
func (w *selectionWatch) observed() Observed {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := make([]*unstructured.Unstructured, 0, len(w.kept.objects))
	for _, one := range w.kept.objects {
		list = append(list, one.content)
	}
	slices.SortFunc(list, byName)
	return Observed{KindState: w.state, Objects: list, Incomplete: w.kept.incomplete}
}

// update changes what is known, and tells the owners.
func (w *selectionWatch) update(change func()) {
	w.mu.Lock()
	change()
	w.mu.Unlock()
	for _, owner := range w.cluster.ownersOf(w) {
		w.cluster.Tracker.Notify(owner, false)
	}
}

// source implements watchConsumer. It lists and watches objects whole. What is incomplete is listed again whenever a watch
// has ended, since no watch tells when objects that are not kept go.
func (w *selectionWatch) source(resource resources.Resource) source {
	if w.observed().Incomplete {
		w.version = ""
	}
	reader := w.cluster.reader(resource, w.selection.Namespace)
	reader.Whole = true
	listed, watched := reader, reader
	listed.Wanted = func(namespace, name string) bool {
		return w.listing.wants(types.NamespacedName{Namespace: namespace, Name: name})
	}
	watched.Wanted = func(namespace, name string) bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.kept.wants(types.NamespacedName{Namespace: namespace, Name: name})
	}
	return source{
		list: func(ctx context.Context, options metav1.ListOptions, take func(runtime.Object) error, _ func(bounded.Head)) (bounded.Page, error) {
			ctx, cancel := w.cluster.deadline(ctx)
			defer cancel()
			return listed.List(ctx, options, take)
		},
		watch:     watched.Watch,
		awaitList: w.cluster.connection.pace.AwaitList,
	}
}

// selector implements watchConsumer.
func (w *selectionWatch) selector() string { return w.selection.Selector }

// fields implements watchConsumer.
func (w *selectionWatch) fields() string { return w.selection.Fields }

// list implements watchConsumer.
func (w *selectionWatch) list(ctx context.Context, source source) (string, error) {
	w.listing = newSelected(w.selection)
	version, err := source.each(ctx, w.selector(), w.fields(), func(item runtime.Object) error {
		w.listing.put(item.(*bounded.WholeObject))
		return nil
	}, nil)
	if err != nil {
		return "", err
	}
	w.update(func() { w.kept, w.state.Listed = w.listing, true })
	return version, nil
}

// handle implements watchConsumer.
func (w *selectionWatch) handle(event watch.Event) error {
	object, ok := event.Object.(*bounded.WholeObject)
	if !ok {
		return nil
	}
	madeRoom := false
	w.update(func() {
		name := nameOf(object)
		if event.Type == watch.Deleted {
			madeRoom = true
			w.kept.remove(name)
		} else {
			before, kept := w.kept.objects[name]
			w.kept.put(object)
			madeRoom = kept && !before.spent && w.kept.objects[name].spent
		}
		madeRoom = madeRoom && w.kept.incomplete
	})
	if madeRoom {
		return errIncomplete
	}
	return nil
}

// setUnknown implements watchConsumer.
func (w *selectionWatch) setUnknown(reason string) { w.update(func() { w.state.Unknown = reason }) }

// gone implements watchConsumer. The next Observe looks for the kind again.
func (w *selectionWatch) gone() {
	w.cluster.mu.Lock()
	w.running = false
	w.cluster.mu.Unlock()
	w.update(func() { w.kept, w.state.Listed = newSelected(w.selection), true })
}

// selectedObject is what is kept of an object, and how much that is.
type selectedObject struct {
	content *unstructured.Unstructured
	size    bounded.SizeLimit
	spent   bool
}

// selected are the objects that are kept of a selection.
type selected struct {
	limit   int
	omit    string
	reducer Reducer
	objects map[types.NamespacedName]selectedObject
	size    bounded.SizeLimit
	// spent is how many of the objects are.
	spent      int
	incomplete bool
}

func newSelected(selection Selection) selected {
	return selected{limit: selection.Limit, omit: selection.Omit, reducer: selection.Reducer, objects: map[types.NamespacedName]selectedObject{}}
}

// wants is whether an object may be kept, as far as its name tells.
func (s *selected) wants(name types.NamespacedName) bool {
	if _, kept := s.objects[name]; kept || len(s.objects)-s.spent < s.limit {
		return true
	}
	s.incomplete = true
	return false
}

// put keeps an object in the place of the one of its name, if it fits.
func (s *selected) put(object *bounded.WholeObject) {
	name := nameOf(object)
	s.remove(name)
	object.Content.SetManagedFields(nil)
	delete(object.Content.Object, s.omit)
	one := selectedObject{content: object.Content}
	if s.reducer != nil {
		one.spent = s.reducer.Reduce(one.content)
	}
	one.size = sizeOf(one.content)
	for !one.spent && !s.fits(one) && s.removeSpent() {
		continue
	}
	if !s.fits(one) {
		s.incomplete = s.incomplete || !one.spent
		return
	}
	s.add(name, one)
}

func (s *selected) fits(one selectedObject) bool {
	return len(s.objects) < s.limit && s.size.Bytes+one.size.Bytes <= maxSelected.Bytes && s.size.Values+one.size.Values <= maxSelected.Values
}

// removeSpent makes room; false if no object is spent.
func (s *selected) removeSpent() bool {
	if s.spent == 0 {
		return false
	}
	for name, one := range s.objects {
		if one.spent {
			s.remove(name)
			break
		}
	}
	return true
}

func (s *selected) add(name types.NamespacedName, one selectedObject) {
	s.objects[name] = one
	s.size.Bytes += one.size.Bytes
	s.size.Values += one.size.Values
	if one.spent {
		s.spent++
	}
}

// sizeOf what is kept of an object.
func sizeOf(content *unstructured.Unstructured) bounded.SizeLimit {
	text, err := json.Marshal(content.Object)
	if err != nil {
		return maxSelected // It was decoded from JSON, so this does not happen.
	}
	var counted untrusted.JSONSize
	counted.ScanAll(text)
	return bounded.SizeLimit{Bytes: len(text), Values: counted.Values}
}

func (s *selected) remove(name types.NamespacedName) {
	if before, kept := s.objects[name]; kept {
		s.size.Bytes -= before.size.Bytes
		s.size.Values -= before.size.Values
		if before.spent {
			s.spent--
		}
		delete(s.objects, name)
	}
}

func nameOf(object *bounded.WholeObject) types.NamespacedName {
	return types.NamespacedName{Namespace: object.Namespace, Name: object.Name}
}
