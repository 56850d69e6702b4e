package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	kjson "sigs.k8s.io/json"

	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/untrusted"
)

// errPageTooLarge: a page of a list has more than maxPage bytes.
var errPageTooLarge = fmt.Errorf("one page of the list is larger than %d MiB", maxPage>>20)

// objectReader reads lists and watches of one kind object by object, so that none is in memory whole before its
// size is known, and never two of a cluster decoded at the same time.
type objectReader struct {
	client   rest.Interface
	resource Resource
	// path of the collection.
	path []string
	// whole reads objects whole instead of their metadata.
	whole bool
	// wanted tells which objects are read beyond their name; nil for all.
	wanted func(namespace, name string) bool
	// unwanted is told of the others; nil if they are not needed.
	unwanted func(head objectHead, gone bool)
	// decoding is held while an object is decoded.
	decoding *sync.Mutex
	// eventTime is how long the rest of an event may take when its first bytes have come.
	eventTime time.Duration
	// large is the cluster's turn.
	large turn
}

// rawConfig is for requests whose answers are read as they come; only errors are decoded by the client.
func rawConfig(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	return config
}

// reader of the collection of a kind, in one namespace or in all.
func (c *Cluster) reader(resource Resource, namespace string) objectReader {
	return objectReader{
		client: c.raw, resource: resource, path: resource.path(namespace),
		decoding: &c.decoding, eventTime: c.connection.fleet.options.Timeouts.Request, large: c.connection.pace.large,
	}
}

// acceptAs asks for the metadata of objects in a kind of meta.k8s.io.
func acceptAs(kind string) string {
	return fmt.Sprintf("%s;as=%s;g=meta.k8s.io;v=v1,%[1]s", runtime.ContentTypeJSON, kind)
}

func (r objectReader) open(ctx context.Context, options metav1.ListOptions, kind string) (io.ReadCloser, error) {
	accept := runtime.ContentTypeJSON
	if !r.whole {
		accept = acceptAs(kind)
	}
	return r.client.Get().AbsPath(r.path...).SpecificallyVersionedParams(&options, scheme.ParameterCodec, schema.GroupVersion{Version: "v1"}).
		SetHeader("Accept", accept).MaxRetries(0).Stream(streamed(ctx))
}

// list hands on the wanted objects of one page.
func (r objectReader) list(ctx context.Context, options metav1.ListOptions, take func(runtime.Object) error) (page, error) {
	return r.listRaw(ctx, options, func(raw []byte) error {
		head, ok, err := r.head(raw)
		if err != nil {
			return err
		}
		if !ok {
			r.skip(head, false)
			return nil
		}
		object, err := r.decode(raw)
		if err != nil {
			return err
		}
		return take(object)
	})
}

// collect hands on the objects of one page that a label selector selects: at most maxListed of them, and no more values
// than maxListValues together, since they are kept.
func (r objectReader) collect(ctx context.Context, selector string, take func(runtime.Object) error) (page, error) {
	var size untrusted.JSONSize
	count := 0
	return r.listRaw(ctx, metav1.ListOptions{LabelSelector: selector, Limit: maxListed}, func(raw []byte) error {
		if count++; count > maxListed {
			return nil
		}
		if size.Scan(raw); size.Values > maxListValues {
			return &limitError{"the list of " + r.resource.Resource, sizeLimit{maxPage, maxListValues}}
		}
		object, err := r.decode(raw)
		if err != nil {
			return err
		}
		return take(object)
	})
}

// listRaw hands on the objects of one page as they come. They must not be kept.
func (r objectReader) listRaw(ctx context.Context, options metav1.ListOptions, take func([]byte) error) (page, error) {
	body, err := r.open(ctx, options, "PartialObjectMetadataList")
	if err != nil {
		return page{}, err
	}
	defer func() { _ = body.Close() }() // What is not read yet is not needed.
	list, err := readList(body, r.large, ctx.Done(), take)
	if err == nil && list.ResourceVersion == "" {
		err = errors.New("it has no resource version")
	}
	if err != nil {
		return page{}, fmt.Errorf("the answer is no list of %s that can be read: %w", r.resource.Resource, err)
	}
	return list, nil
}

// objectHead is what there is to know of an object that is not wanted.
type objectHead struct {
	Metadata struct {
		Namespace       string    `json:"namespace"`
		Name            string    `json:"name"`
		UID             types.UID `json:"uid"`
		ResourceVersion string    `json:"resourceVersion"`
		OwnerReferences []struct {
			Controller bool `json:"controller"`
		} `json:"ownerReferences"`
		Labels struct {
			Owner string `json:"owner"`
		} `json:"labels"`
		Annotations struct {
			Hook string `json:"helm.sh/hook"`
		} `json:"annotations"`
	} `json:"metadata"`
}

func (h objectHead) key(kind schema.GroupKind) objects.Key {
	return objects.Key{GroupKind: kind, Namespace: h.Metadata.Namespace, Name: h.Metadata.Name}
}

// isOfItsOwn is false for an object that a controller made for another one, and for Helm's hooks and records.
func (h objectHead) isOfItsOwn() bool {
	for _, owner := range h.Metadata.OwnerReferences {
		if owner.Controller {
			return false
		}
	}
	return h.Metadata.Annotations.Hook == "" && h.Metadata.Labels.Owner != "helm"
}

func (r objectReader) skip(head objectHead, gone bool) {
	if r.unwanted != nil {
		r.unwanted(head, gone)
	}
}

func (r objectReader) head(raw []byte) (objectHead, bool, error) {
	var head objectHead
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &head); err != nil {
		return head, false, err
	}
	if err := checkIdentifiers(head.Metadata.UID, head.Metadata.ResourceVersion); err != nil {
		return head, false, err
	}
	return head, r.wanted == nil || r.wanted(head.Metadata.Namespace, head.Metadata.Name), nil
}

// decode makes an object of JSON that is not too large.
func (r objectReader) decode(raw []byte) (runtime.Object, error) {
	size := untrusted.JSONSize{}
	if size.Scan(raw); len(raw) > maxObject || size.Values > maxValues {
		return nil, &limitError{"one of the " + r.resource.Resource, sizeLimit{maxObject, maxValues}}
	}
	r.decoding.Lock()
	defer r.decoding.Unlock()
	kind := r.resource.GroupVersion().WithKind(r.resource.Kind)
	if !r.whole {
		object := &metav1.PartialObjectMetadata{}
		err := kjson.UnmarshalCaseSensitivePreserveInts(raw, object)
		object.SetGroupVersionKind(kind)
		return object, err
	}
	object := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(raw, &object.Object); err != nil {
		return nil, err
	}
	if object.Object == nil {
		return nil, errors.New("an object is null")
	}
	object.SetGroupVersionKind(kind)
	return object, nil
}

// watch opens a watch. Events of objects that are not wanted come as bookmarks.
func (r objectReader) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	options.Watch = true
	body, err := r.open(ctx, options, "PartialObjectMetadata")
	if err != nil {
		return nil, err
	}
	reporter := apierrors.NewClientErrorReporter(http.StatusInternalServerError, http.MethodGet, "ClientWatchDecoding")
	return watch.NewStreamWatcher(&eventDecoder{reader: r, frames: newFrames(body, r.eventTime, r.large)}, reporter), nil
}

// eventDecoder implements watch.Decoder.
type eventDecoder struct {
	reader objectReader
	frames *frames
}

// Close implements watch.Decoder.
func (d *eventDecoder) Close() { d.frames.close() }

// Decode implements watch.Decoder.
func (d *eventDecoder) Decode() (watch.EventType, runtime.Object, error) {
	defer d.frames.drop()
	frame, err := d.frames.next()
	if err != nil {
		return "", nil, err
	}
	var event struct {
		Type   watch.EventType `json:"type"`
		Object json.RawMessage `json:"object"`
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(frame, &event); err != nil {
		return "", nil, err
	}
	switch event.Type {
	case watch.Error:
		status := &metav1.Status{}
		err := kjson.UnmarshalCaseSensitivePreserveInts(event.Object, status)
		return event.Type, status, err
	case watch.Added, watch.Modified, watch.Deleted, watch.Bookmark:
	default:
		return "", nil, fmt.Errorf("an event has the unknown type %.20q", event.Type)
	}
	head, wanted, err := d.reader.head(event.Object)
	if err != nil {
		return "", nil, err
	}
	if !wanted && event.Type != watch.Bookmark {
		d.reader.skip(head, event.Type == watch.Deleted)
	}
	if !wanted || event.Type == watch.Bookmark {
		return watch.Bookmark, &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{ResourceVersion: head.Metadata.ResourceVersion}}, nil
	}
	object, err := d.reader.decode(event.Object)
	return event.Type, object, err
}
