package fleet

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// ReadClaimed reads a claimed object that no watch has shown yet, and tells the tracker. A watch says nothing of an object
// that was there before it was claimed, if the apply that followed changed nothing about it. If a watch shows the
// object meanwhile, that stands.
func (c *Cluster) ReadClaimed(ctx context.Context, ref objects.Ref) error {
	ctx, cancel := c.deadline(ctx)
	defer cancel()
	resource, err := c.Resource(ctx, ref.GroupVersionKind)
	if err != nil {
		return err
	}
	var client dynamic.ResourceInterface = c.dynamic.Resource(resource.GroupVersionResource)
	if resource.Namespaced {
		client = c.dynamic.Resource(resource.GroupVersionResource).Namespace(ref.Namespace)
	}
	now := c.connection.fleet.clock.Now()
	object, err := client.Get(ctx, ref.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		c.Tracker.ObserveFirst(ref.Key(), tracker.Seen{Gone: true, At: now})
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", ref, err)
	}
	if key, seen, ok := c.look(ref.GroupKind(), object, now); ok {
		c.Tracker.ObserveFirst(key, seen)
	}
	return nil
}
