package fleet

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// pageSize is how many objects one answer to a list may hold: what nobody claimed is dropped page by
// page, so that memory does not grow with what others labelled.
const pageSize = 500

// source lists and watches one kind; dynamic clients and metadata clients differ in types only.
type source struct {
	// list returns one page, within the deadline of a request.
	list  func(context.Context, metav1.ListOptions) (runtime.Object, error)
	watch func(context.Context, metav1.ListOptions) (watch.Interface, error)
}

// sourceFor watches kinds with a status whole, for their health, and others metadata-only.
func (c *Cluster) sourceFor(resource Resource) source {
	if resource.HasStatus {
		client := c.dynamic.Resource(resource.GroupVersionResource)
		return source{
			list: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
				ctx, cancel := c.deadline(ctx)
				defer cancel()
				return client.List(ctx, options)
			},
			watch: client.Watch,
		}
	}
	client := c.metadata.Resource(resource.GroupVersionResource)
	return source{
		list: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			ctx, cancel := c.deadline(ctx)
			defer cancel()
			return client.List(ctx, options)
		},
		watch: client.Watch,
	}
}

// each calls take for every object that the label selector selects, page by page, and returns the
// resource version to watch from. An error of take ends it. A page that fails fails the list; what was
// taken by then is incomplete.
func (s source) each(ctx context.Context, selector string, take func(runtime.Object) error) (string, error) {
	options := metav1.ListOptions{LabelSelector: selector, Limit: pageSize}
	for {
		page, err := s.list(ctx, options)
		if err != nil {
			return "", err
		}
		if err := meta.EachListItem(page, take); err != nil {
			return "", err
		}
		list, err := meta.ListAccessor(page)
		if err != nil {
			return "", err
		}
		if options.Continue = list.GetContinue(); options.Continue == "" {
			return list.GetResourceVersion(), nil
		}
	}
}
