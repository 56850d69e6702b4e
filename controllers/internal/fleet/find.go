package fleet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

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
	found, err := c.discover()
	if err != nil {
		return ref, false, err
	}
	for _, list := range found.lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil || version.Group != ref.Group {
			continue
		}
		for _, resource := range list.APIResources {
			if resource.Kind == ref.Kind {
				ref.Version = version.Version
				return ref, true, nil
			}
		}
	}
	return ref, false, found.failed.in(ref.Group)
}

// discovered is what a cluster serves: kinds in their preferred version, and what did not say what it serves.
type discovered struct {
	lists  []*metav1.APIResourceList
	failed failedGroups
}

// discover asks for all kinds that the cluster serves.
func (c *Cluster) discover() (discovered, error) {
	lists, err := discovery.ServerPreferredResources(c.discovery)
	var partial *discovery.ErrGroupDiscoveryFailed
	if err != nil && !errors.As(err, &partial) {
		return discovered{}, fmt.Errorf("discover what the cluster serves: %w", err)
	}
	if len(lists) == 0 {
		return discovered{}, errors.New("discover what the cluster serves: the answer is empty")
	}
	found := discovered{lists: lists}
	if partial != nil {
		found.failed = slices.SortedFunc(maps.Keys(partial.Groups), func(a, b schema.GroupVersion) int {
			return strings.Compare(a.String(), b.String())
		})
	}
	return found, nil
}

// failedGroups did not say what they serve.
type failedGroups []schema.GroupVersion

// in returns an error if a version of the group failed.
func (f failedGroups) in(group string) error {
	return failedGroups(slices.DeleteFunc(slices.Clone(f), func(one schema.GroupVersion) bool { return one.Group != group })).any()
}

// any returns an error if there is a group that failed.
func (f failedGroups) any() error {
	if len(f) == 0 {
		return nil
	}
	return &UndiscoveredError{GroupVersion: f[0], Others: len(f) - 1}
}

// UndiscoveredError tells that an API group does not say what it serves, mostly because the server behind an APIService
// does not answer. Nobody can tell then which objects of the group there are.
type UndiscoveredError struct {
	// GroupVersion is the first that failed.
	GroupVersion schema.GroupVersion
	// Others is how many failed beside it.
	Others int
}

// Error names the group and the way out.
func (e *UndiscoveredError) Error() string {
	more := ""
	if e.Others > 0 {
		more = fmt.Sprintf(" (and %d more)", e.Others)
	}
	return fmt.Sprintf("API group %s%s does not answer, so its objects cannot be listed; repair or delete APIService %s.%s",
		e.GroupVersion, more, e.GroupVersion.Version, e.GroupVersion.Group)
}
