package floor

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// Apply applies one object and returns its metadata.
func (c *Cluster) Apply(ctx context.Context, object Object) (*metav1.PartialObjectMetadata, error) {
	answer, err := c.at(object).Patch(ctx, object.Name, types.ApplyPatchType, object.Body,
		metav1.PatchOptions{FieldManager: Manager, Force: ptr.To(true)})
	if err != nil {
		return nil, fmt.Errorf("apply %s %s: %w", object.Resource, object.Name, err)
	}
	return answer, nil
}

// ApplyAll applies objects, so many at a time: those of the whole cluster first, then the others,
// which may live in a namespace among the first.
func (c *Cluster) ApplyAll(ctx context.Context, objects []Object, concurrency int) error {
	for _, namespaced := range []bool{false, true} {
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(concurrency)
		for _, object := range objects {
			if (object.Namespace != "") == namespaced {
				group.Go(func() error {
					_, err := c.Apply(ctx, object)
					return err
				})
			}
		}
		if err := group.Wait(); err != nil {
			return err
		}
	}
	return nil
}

// Exists fails unless the cluster has the object.
func (c *Cluster) Exists(ctx context.Context, object Object) error {
	_, err := c.at(object).Get(ctx, object.Name, metav1.GetOptions{})
	return err
}
