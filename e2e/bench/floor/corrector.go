package floor

import (
	"context"
	"fmt"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// Corrector takes edits of some objects of one kind back, one after the other.
type Corrector struct {
	cluster *Cluster
	watch   watch.Interface
	stopped atomic.Bool
	objects map[types.NamespacedName]Object
	// takeBack undoes an edit and returns the resource versions that it made.
	takeBack func(context.Context, Object, *metav1.PartialObjectMetadata) ([]string, error)
	// own are the resource versions that it made and has not met in the watch yet.
	own map[string]bool
}

// CorrectValues starts to take changed values back, with one apply each. Stop must follow.
func (c *Cluster) CorrectValues(ctx context.Context, kind schema.GroupVersionResource, labels map[string]string, objects []Object) (*Corrector, error) {
	corrector, err := c.newCorrector(ctx, kind, labels, objects)
	if err != nil {
		return nil, err
	}
	corrector.takeBack = corrector.reapply
	return corrector, nil
}

// CorrectAdditions starts to take back what others added, too, which needs a patch and an apply.
func (c *Cluster) CorrectAdditions(ctx context.Context, kind schema.GroupVersionResource, labels map[string]string, objects []Object) (*Corrector, error) {
	corrector, err := c.newCorrector(ctx, kind, labels, objects)
	if err != nil {
		return nil, err
	}
	corrector.takeBack = corrector.takeOver
	return corrector, nil
}

func (c *Cluster) newCorrector(ctx context.Context, kind schema.GroupVersionResource, labels map[string]string, objects []Object) (*Corrector, error) {
	options := selecting(labels)
	list, err := c.metadata.Resource(kind).List(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", kind.Resource, err)
	}
	options.ResourceVersion = list.ResourceVersion
	watching, err := c.metadata.Resource(kind).Watch(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", kind.Resource, err)
	}
	corrector := &Corrector{cluster: c, watch: watching, objects: map[types.NamespacedName]Object{}, own: map[string]bool{}}
	for _, object := range objects {
		corrector.objects[types.NamespacedName{Namespace: object.Namespace, Name: object.Name}] = object
	}
	return corrector, nil
}

// Stop ends the watch, and with it Run.
func (c *Corrector) Stop() {
	c.stopped.Store(true)
	c.watch.Stop()
}

// Run corrects until the watch ends.
func (c *Corrector) Run(ctx context.Context) error {
	for event := range c.watch.ResultChan() {
		if c.stopped.Load() {
			return nil
		}
		seen, ok := event.Object.(*metav1.PartialObjectMetadata)
		if !ok {
			return fmt.Errorf("watch: %w", apierrors.FromObject(event.Object))
		}
		if c.own[seen.ResourceVersion] {
			delete(c.own, seen.ResourceVersion)
			continue
		}
		object, known := c.objects[types.NamespacedName{Namespace: seen.Namespace, Name: seen.Name}]
		if !known {
			continue
		}
		versions, err := c.takeBack(ctx, object, seen)
		if err != nil {
			return err
		}
		for _, version := range versions {
			c.own[version] = true
		}
	}
	return nil
}

func (c *Corrector) reapply(ctx context.Context, object Object, _ *metav1.PartialObjectMetadata) ([]string, error) {
	answer, err := c.cluster.Apply(ctx, object)
	if err != nil {
		return nil, err
	}
	return []string{answer.ResourceVersion}, nil
}

// takeOver makes itself the owner of what somebody else set, so that the apply removes it.
func (c *Corrector) takeOver(ctx context.Context, object Object, seen *metav1.PartialObjectMetadata) ([]string, error) {
	patch, err := takeover(seen.ManagedFields)
	if err != nil {
		return nil, err
	}
	moved, err := c.cluster.at(object).Patch(ctx, object.Name, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: Manager})
	if err != nil {
		return nil, fmt.Errorf("move ownership of %s: %w", object.Name, err)
	}
	versions, err := c.reapply(ctx, object, seen)
	return append(versions, moved.ResourceVersion), err
}
