package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/bounded"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/resources"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

const (
	// pageSize is how many objects a list asks for that reads one page alone: with annotations of 80 KiB each, they are
	// as large as a page may be.
	pageSize = 100
	// maxPageSize is how many objects one page of a longer list may hold.
	maxPageSize = 500
	// firstPageSize is how many objects the first page holds, before it is known how large they are. Most
	// clusters have fewer of a kind that carry the label.
	firstPageSize = 25
	// aimedPage is how many bytes a page is to have: few requests for small objects, and little in memory for
	// large ones.
	aimedPage = 4 << 20
	// maxListTime bounds a whole list. 50,000 objects of a customer's own take less than a minute.
	maxListTime = 5 * time.Minute
	// maxContinue bounds the token that a server wants back for the next page, in bytes. etcd's keys, of which it
	// is made, have less than 1 KiB.
	maxContinue = 16 << 10
)

// source lists and watches one kind. Of objects that no target claims it decodes no more than the name.
type source struct {
	// list hands on the objects of one page, within the deadline of a request, and returns how many bytes it had.
	list  func(context.Context, metav1.ListOptions, func(runtime.Object) error, func(bounded.Head)) (bounded.Page, error)
	watch func(context.Context, metav1.ListOptions) (watch.Interface, error)
	// awaitList waits until the kind may be listed.
	awaitList func(context.Context) error
}

// sourceFor watches kinds with a status whole, for their health, and others metadata-only.
func (c *Cluster) sourceFor(resource resources.Resource) source {
	reader := c.reader(resource, metav1.NamespaceAll)
	reader.Whole = resource.HasStatus
	reader.Wanted = func(namespace, name string) bool {
		return c.Tracker.Claims(objects.Key{GroupKind: resource.GroupKind(), Namespace: namespace, Name: name})
	}
	watched := reader
	watched.Unwanted = func(head bounded.Head, gone bool) {
		if head.Independent {
			c.Tracker.NoteUnrecorded(head.Key(resource.GroupKind()), head.UID, gone, c.connection.fleet.clock.Now())
		}
	}
	return source{
		list: func(ctx context.Context, options metav1.ListOptions, take func(runtime.Object) error, pass func(bounded.Head)) (bounded.Page, error) {
			ctx, cancel := c.deadline(ctx)
			defer cancel()
			listed := reader
			listed.Unwanted = func(head bounded.Head, _ bool) { pass(head) }
			return listed.List(ctx, options, take)
		},
		watch:     watched.Watch,
		awaitList: c.connection.pace.AwaitList,
	}
}

// each calls take for every claimed object that the selectors of labels and fields select, page by page, and pass for every other one.
// It returns the resource version to watch from. An error of take ends it. A page that fails fails the list; what was
// taken by then is incomplete, and an object may be taken twice.
func (s source) each(ctx context.Context, selector, fields string, take func(runtime.Object) error, pass func(bounded.Head)) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, maxListTime)
	defer cancel()
	if err := s.awaitList(ctx); err != nil {
		return "", err
	}
	options := metav1.ListOptions{LabelSelector: selector, FieldSelector: fields, Limit: firstPageSize}
	for {
		page, err := s.list(ctx, options, take, pass)
		if errors.Is(err, bounded.ErrPageTooLarge) && options.Limit > 1 {
			options.Limit = max(1, options.Limit/4)
			continue
		}
		if err != nil {
			return "", err
		}
		if len(page.Continue) > maxContinue {
			return "", fmt.Errorf("the list goes on at a token of %d bytes; no more than %d are sent back", len(page.Continue), maxContinue)
		}
		if page.Continue == "" {
			return page.ResourceVersion, nil
		}
		options.Continue, options.Limit = page.Continue, nextLimit(options.Limit, page)
	}
}

// nextLimit is how many objects the next page may hold, given how large those of the last one were. It grows
// slowly, since the next ones may be larger.
func nextLimit(limit int64, last bounded.Page) int64 {
	if last.Items == 0 {
		return limit
	}
	fitting := int64(aimedPage / (last.Bytes/last.Items + 1))
	return max(1, min(fitting, 4*limit, maxPageSize))
}
