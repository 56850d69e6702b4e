package fleet

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	kjson "sigs.k8s.io/json"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/bounded"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/precondition"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/resources"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/transport"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// Cluster is a connected workload cluster. It is valid until its connection is lost; from then on
// every request fails.
type Cluster struct {
	// ID is the cluster's identity.
	ID types.UID
	// Version of its API server, as in "v1.36.3".
	Version string
	// Tracker of the objects in it.
	Tracker *tracker.Tracker

	*resources.Mapper
	transport  *transport.Transport
	config     *rest.Config
	requests   *http.Client
	raw        rest.Interface
	metadata   metadata.Interface
	dynamic    dynamic.Interface
	discovery  *discovery.DiscoveryClient
	connection *connection

	confirmations confirmations

	// decoding is held while an object of a list or a watch is decoded.
	decoding sync.Mutex

	ctx    context.Context
	cancel context.CancelCauseFunc

	// running are the watches that have not ended yet.
	running sync.WaitGroup
	mu      sync.Mutex
	watches map[schema.GroupKind]*kindWatch
	// observations of what Daytwo does not own.
	observations map[Selection]*selectionWatch
}

func newCluster(ctx context.Context, c *connection, l *transport.Transport, state State) (*Cluster, error) {
	config := &rest.Config{Host: c.server, QPS: -1, UserAgent: metav1alpha1.FieldManager, WarningHandler: rest.NoWarnings{}}
	httpClient := &http.Client{Transport: bounded.PacedRoundTripper{Inner: c.fleet.metrics.count(l.RoundTripper()), Pace: c.pace}}
	metadataClient, err := metadata.NewForConfigAndClient(metadata.ConfigFor(config), httpClient)
	if err != nil {
		return nil, fmt.Errorf("metadata client: %w", err)
	}
	dynamicClient, err := dynamic.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("dynamic client: %w", err)
	}
	rawClient, err := rest.UnversionedRESTClientForConfigAndClient(bounded.RawConfig(config), httpClient)
	if err != nil {
		return nil, fmt.Errorf("client for lists and watches: %w", err)
	}
	// Without a watch among its requests, a client can bound each of them.
	requests := &http.Client{Transport: httpClient.Transport, Timeout: c.fleet.options.Timeouts.Request}
	discoveryClient, err := discovery.NewDiscoveryClientForConfigAndClient(config, requests)
	if err != nil {
		return nil, fmt.Errorf("discovery client: %w", err)
	}
	cluster := &Cluster{
		ID: state.Identity, Version: state.Version, Tracker: c.tracker,
		Mapper: resources.New(state.Version, discoveryClient), discovery: discoveryClient,
		transport:    l,
		config:       config,
		requests:     requests,
		raw:          rawClient,
		metadata:     metadataClient,
		dynamic:      dynamicClient,
		connection:   c,
		watches:      map[schema.GroupKind]*kindWatch{},
		observations: map[Selection]*selectionWatch{},
	}
	cluster.ctx, cluster.cancel = context.WithCancelCause(ctx)
	return cluster, nil
}

// close ends all requests and watches, and returns when no watch can tell the tracker anything any more. Those who
// still use the cluster are told why.
func (c *Cluster) close(why error) {
	c.mu.Lock()
	c.cancel(why)
	c.mu.Unlock()
	c.running.Wait()
}

// Apply applies an object, given as JSON, in Daytwo's name, and returns its metadata. Unknown and
// duplicate fields are refused. Without force, a field that somebody else owns with another value
// is a conflict. With a UID, only the object that has it is written to: where there is none, or another one of that
// name, nothing is written, and IsAnother is true for the error. Without one, the object may be created.
func (c *Cluster) Apply(ctx context.Context, ref objects.Ref, uid types.UID, body []byte, force bool) (*metav1.PartialObjectMetadata, error) {
	body, err := precondition.SetUID(body, uid)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", ref, err)
	}
	return c.exchange(ctx, ref, c.raw.Patch(types.ApplyPatchType).Body(body), &metav1.PatchOptions{
		FieldManager: c.connection.fleet.options.Rules.Self(), Force: &force, FieldValidation: metav1.FieldValidationStrict,
	})
}

// ApplyAs applies an object, given as JSON, in the name of another field manager, to the object that has the given UID, and
// returns its metadata. A field that somebody else owns with another value is a conflict.
func (c *Cluster) ApplyAs(ctx context.Context, manager string, ref objects.Ref, uid types.UID, body []byte) (*metav1.PartialObjectMetadata, error) {
	if uid == "" {
		return nil, fmt.Errorf("apply %s: it has no uid", ref)
	}
	body, err := precondition.SetUID(body, uid)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", ref, err)
	}
	force := false
	return c.exchange(ctx, ref, c.raw.Patch(types.ApplyPatchType).Body(body), &metav1.PatchOptions{
		FieldManager: manager, Force: &force, FieldValidation: metav1.FieldValidationStrict,
	})
}

// ReloadManager is the field manager of an annotation by which workloads are restarted: see package managedfields.
func (c *Cluster) ReloadManager(id string) string {
	return c.connection.fleet.options.Rules.ReloadManager(id)
}

// Create creates an object, given as JSON, in Daytwo's name, and returns its metadata. Unknown and duplicate fields are
// refused. Where there is an object of that name already, apierrors.IsAlreadyExists is true for the error, and nothing is
// written.
func (c *Cluster) Create(ctx context.Context, ref objects.Ref, body []byte) (*metav1.PartialObjectMetadata, error) {
	collection := ref
	collection.Name = ""
	created, err := c.exchange(ctx, collection, c.raw.Post().Body(body), &metav1.CreateOptions{
		FieldManager: c.connection.fleet.options.Rules.Self(), FieldValidation: metav1.FieldValidationStrict,
	})
	if err == nil && (created.Name != ref.Name || created.Namespace != ref.Namespace) {
		return nil, fmt.Errorf("create %s: the answer is not that object", ref)
	}
	return created, err
}

// Patch applies a JSON patch to the object that has the given UID; for another one it is invalid.
func (c *Cluster) Patch(ctx context.Context, ref objects.Ref, uid types.UID, patch []byte) (*metav1.PartialObjectMetadata, error) {
	patch, err := precondition.RequireUID(patch, uid)
	if err != nil {
		return nil, fmt.Errorf("patch %s: %w", ref, err)
	}
	return c.exchange(ctx, ref, c.raw.Patch(types.JSONPatchType).Body(patch), &metav1.PatchOptions{FieldManager: c.connection.fleet.options.Rules.Self()})
}

// PatchSubresource applies a JSON patch to a subresource, such as "status", of the object that has the given UID; for another one
// it is invalid.
func (c *Cluster) PatchSubresource(ctx context.Context, ref objects.Ref, uid types.UID, subresource string, patch []byte) (*metav1.PartialObjectMetadata, error) {
	patch, err := precondition.RequireUID(patch, uid)
	if err != nil {
		return nil, fmt.Errorf("patch %s of %s: %w", subresource, ref, err)
	}
	return c.exchange(ctx, ref, c.raw.Patch(types.JSONPatchType).Body(patch),
		&metav1.PatchOptions{FieldManager: c.connection.fleet.options.Rules.Self()}, subresource)
}

// Get reads an object's metadata.
func (c *Cluster) Get(ctx context.Context, ref objects.Ref) (*metav1.PartialObjectMetadata, error) {
	return c.exchange(ctx, ref, c.raw.Get(), &metav1.GetOptions{})
}

// exchange sends a request for one object, or for its collection if the name is empty, and returns the object's metadata. client-go's client of metadata decodes each answer
// twice, to find the kind first, in the course of every correction.
func (c *Cluster) exchange(ctx context.Context, ref objects.Ref, request *rest.Request, options runtime.Object, subresource ...string) (*metav1.PartialObjectMetadata, error) {
	ctx, cancel := c.deadline(ctx)
	defer cancel()
	resource, err := c.Resource(ctx, ref.GroupVersionKind)
	if err != nil {
		return nil, err
	}
	result := request.AbsPath(slices.Concat(resource.Path(ref.Namespace), []string{ref.Name}, subresource)...).SetHeader("Accept", bounded.AcceptAs("PartialObjectMetadata")).
		SpecificallyVersionedParams(options, scheme.ParameterCodec, schema.GroupVersion{Version: "v1"}).Do(ctx)
	if err := result.Error(); err != nil {
		return nil, err
	}
	raw, err := result.Raw()
	if err != nil {
		return nil, err
	}
	object := &metav1.PartialObjectMetadata{}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, object); err != nil {
		return nil, fmt.Errorf("the answer is no object that can be read: %w", err)
	}
	if object.UID == "" || object.ResourceVersion == "" {
		return nil, errors.New("the answer is no object: it has no uid or no resource version")
	}
	return object, bounded.CheckIdentifiers(object.UID, object.ResourceVersion)
}

// Delete deletes an object if it is still the one with the given UID; a newer one of that name is a
// conflict.
func (c *Cluster) Delete(ctx context.Context, ref objects.Ref, uid types.UID) error {
	return c.deleteIf(ctx, ref, metav1.Preconditions{UID: &uid})
}

// DeleteAsRead deletes an object if nobody wrote it since it was read; otherwise that is a conflict.
func (c *Cluster) DeleteAsRead(ctx context.Context, ref objects.Ref, read metav1.Object) error {
	uid, version := read.GetUID(), read.GetResourceVersion()
	return c.deleteIf(ctx, ref, metav1.Preconditions{UID: &uid, ResourceVersion: &version})
}

func (c *Cluster) deleteIf(ctx context.Context, ref objects.Ref, preconditions metav1.Preconditions) error {
	ctx, cancel := c.deadline(ctx)
	defer cancel()
	client, err := c.at(ctx, ref)
	if err != nil {
		return err
	}
	background := metav1.DeletePropagationBackground
	return client.Delete(ctx, ref.Name, metav1.DeleteOptions{Preconditions: &preconditions, PropagationPolicy: &background})
}

func (c *Cluster) at(ctx context.Context, ref objects.Ref) (metadata.ResourceInterface, error) {
	resource, err := c.Resource(ctx, ref.GroupVersionKind)
	if err != nil {
		return nil, err
	}
	if resource.Namespaced {
		return c.metadata.Resource(resource.GroupVersionResource).Namespace(ref.Namespace), nil
	}
	return c.metadata.Resource(resource.GroupVersionResource), nil
}

// deadline bounds a request, and ends it when the connection ends.
func (c *Cluster) deadline(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, c.connection.fleet.options.Timeouts.Request)
	stop := context.AfterFunc(c.ctx, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// Identity is the cluster's ID, for those who see a Cluster through an interface.
func (c *Cluster) Identity() types.UID { return c.ID }
