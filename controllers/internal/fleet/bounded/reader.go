package bounded

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
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	kjson "sigs.k8s.io/json"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/resources"
	"github.com/daytwo-dev/daytwo/controllers/internal/untrusted"
)

// ErrPageTooLarge tells that a page of a list has more than maxPage bytes.
var ErrPageTooLarge = fmt.Errorf("one page of the list is larger than %d MiB", maxPage>>20)

// MaxListed is how many objects a read of several returns at most.
const MaxListed = 500

// Reader reads lists and watches of one kind object by object, so that none is in memory whole before its
// size is known, and never two of a cluster decoded at the same time.
type Reader struct {
	// Client sends the requests; its config is one of RawConfig.
	Client rest.Interface
	// Resource is how the kind is served.
	Resource resources.Resource
	// Path of the collection.
	Path []string
	// Whole reads objects whole instead of their metadata.
	Whole bool
	// Wanted tells which objects are read beyond their name; nil for all.
	Wanted func(namespace, name string) bool
	// Unwanted is told of the others; nil if they are not needed.
	Unwanted func(head Head, gone bool)
	// Decoding is held while an object is decoded.
	Decoding *sync.Mutex
	// EventTime is how long the rest of an event may take when its first bytes have come.
	EventTime time.Duration
	// Large is the cluster's turn.
	Large *Turn
}

// RawConfig is for requests whose answers are read as they come; only errors are decoded by the client.
func RawConfig(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	return config
}

// AcceptAs asks for the metadata of objects in a kind of meta.k8s.io.
func AcceptAs(kind string) string {
	return fmt.Sprintf("%s;as=%s;g=meta.k8s.io;v=v1,%[1]s", runtime.ContentTypeJSON, kind)
}

func (r Reader) open(ctx context.Context, options metav1.ListOptions, kind string) (io.ReadCloser, error) {
	accept := runtime.ContentTypeJSON
	if !r.Whole {
		accept = AcceptAs(kind)
	}
	return r.Client.Get().AbsPath(r.Path...).SpecificallyVersionedParams(&options, scheme.ParameterCodec, schema.GroupVersion{Version: "v1"}).
		SetHeader("Accept", accept).MaxRetries(0).Stream(streamed(ctx))
}

// List hands on the wanted objects of one page.
func (r Reader) List(ctx context.Context, options metav1.ListOptions, take func(runtime.Object) error) (Page, error) {
	return r.listRaw(ctx, options, func(raw []byte) error {
		object, _, err := r.read(raw, false)
		if object == nil || err != nil {
			return err
		}
		return take(object)
	})
}

// Collect hands on the objects of one page that a label selector selects: at most MaxListed of them, and no more values
// than maxListValues together, since they are kept.
func (r Reader) Collect(ctx context.Context, selector string, take func(runtime.Object) error) (Page, error) {
	var size untrusted.JSONSize
	count := 0
	return r.listRaw(ctx, metav1.ListOptions{LabelSelector: selector, Limit: MaxListed}, func(raw []byte) error {
		if count++; count > MaxListed {
			return nil
		}
		if size.Scan(raw); size.Values > maxListValues {
			return &LimitError{"the list of " + r.Resource.Resource, SizeLimit{maxPage, maxListValues}}
		}
		object, err := r.decode(raw)
		if err != nil {
			return err
		}
		return take(object)
	})
}

// listRaw hands on the objects of one page as they come. They must not be kept.
func (r Reader) listRaw(ctx context.Context, options metav1.ListOptions, take func([]byte) error) (Page, error) {
	body, err := r.open(ctx, options, "PartialObjectMetadataList")
	if err != nil {
		return Page{}, err
	}
	defer func() { _ = body.Close() }() // What is not read yet is not needed.
	list, err := readList(body, r.Large, ctx.Done(), take)
	if err == nil && list.ResourceVersion == "" {
		err = errors.New("it has no resource version")
	}
	if err != nil {
		return Page{}, fmt.Errorf("the answer is no list of %s that can be read: %w", r.Resource.Resource, err)
	}
	return list, nil
}

// Watch opens a watch. Events of objects that are not wanted come as bookmarks.
func (r Reader) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	options.Watch = true
	body, err := r.open(ctx, options, "PartialObjectMetadata")
	if err != nil {
		return nil, err
	}
	reporter := apierrors.NewClientErrorReporter(http.StatusInternalServerError, http.MethodGet, "ClientWatchDecoding")
	return watch.NewStreamWatcher(&eventDecoder{reader: r, frames: newFrames(body, r.EventTime, r.Large)}, reporter), nil
}

// eventDecoder implements watch.Decoder.
type eventDecoder struct {
	reader Reader
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
	kind, raw, err := splitEvent(frame)
	if err != nil {
		return "", nil, err
	}
	switch kind {
	case watch.Error:
		status := &metav1.Status{}
		err := kjson.UnmarshalCaseSensitivePreserveInts(raw, status)
		return kind, status, err
	case watch.Added, watch.Modified, watch.Deleted:
		object, version, err := d.reader.read(raw, kind == watch.Deleted)
		if object != nil || err != nil {
			return kind, object, err
		}
		return watch.Bookmark, bookmark(version), nil
	case watch.Bookmark:
		head, err := headOf(raw)
		return kind, bookmark(head.version), err
	}
	return "", nil, fmt.Errorf("an event has the unknown type %.20q", kind)
}

func bookmark(version string) runtime.Object {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{ResourceVersion: version}}
}

// splitEvent finds the type and the object of an event. The object is a part of the frame.
func splitEvent(frame []byte) (kind watch.EventType, object []byte, err error) {
	in := &values{body: eof{}, buffer: frame, limit: SizeLimit{len(frame), maxValues}}
	err = in.members(func(name string) error {
		raw, err := in.next()
		switch {
		case err != nil:
		case name == "object":
			object = raw
		case name == "type":
			err = json.Unmarshal(raw, &kind)
		}
		return err
	})
	return kind, object, err
}

// eof is the end of what is in memory already.
type eof struct{}

func (eof) Read([]byte) (int, error) { return 0, io.EOF }
