package fleet

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/resources"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// Find reads an object's metadata; nil if the object is not in the cluster. Nil is an answer that a deletion may be
// called done by: the API server itself said that there is no such object, or its discovery is complete for the
// group and has no such kind. Any other answer, as a 404 of a proxy or a body without a UID, is an error.
func (c *Cluster) Find(ctx context.Context, ref objects.Ref) (*metav1.PartialObjectMetadata, error) {
	object, err := c.Get(ctx, ref)
	if meta.IsNoMatchError(err) || isBareNotFound(err, ref.Name) {
		served, ok, err := c.discoverRef(ref)
		if err != nil || !ok {
			return nil, err
		}
		object, err = c.Get(ctx, served)
		return confirmed(ref, object, err)
	}
	return confirmed(ref, object, err)
}

// confirmed takes an answer only if it is about the object.
func confirmed(ref objects.Ref, object *metav1.PartialObjectMetadata, err error) (*metav1.PartialObjectMetadata, error) {
	switch {
	case isBareNotFound(err, ref.Name):
		return nil, fmt.Errorf("read %s: the answer is a 404 that does not name the object, though its kind is served", ref)
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	case object.UID == "" || object.Name != ref.Name || object.Namespace != ref.Namespace:
		return nil, fmt.Errorf("read %s: the answer is not that object", ref)
	}
	return object, nil
}

// isBareNotFound is whether a 404 came without the status of an API server, which names the object. Paths of kinds that
// it does not serve are answered so, and so does what stands in front of it.
func isBareNotFound(err error, name string) bool {
	status := apierrors.APIStatus(nil)
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details == nil || details.Name != name || apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// ServedRef names an object by an API version that the cluster serves, which may be another than the one that it was
// applied in; false if the cluster serves no such kind.
func (c *Cluster) ServedRef(ctx context.Context, ref objects.Ref) (objects.Ref, bool, error) {
	_, err := c.Resource(ctx, ref.GroupVersionKind)
	if meta.IsNoMatchError(err) {
		return c.discoverRef(ref)
	}
	return ref, err == nil, err
}

// discoverRef asks what the cluster serves now, whatever is known of it.
func (c *Cluster) discoverRef(ref objects.Ref) (objects.Ref, bool, error) {
	found, err := resources.Discover(c.discovery)
	if err != nil {
		return ref, false, err
	}
	version, served, err := found.Version(ref.GroupKind())
	if served {
		ref.Version = version
	}
	return ref, served, err
}
