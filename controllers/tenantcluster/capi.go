package tenantcluster

import (
	"context"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// clusterDefinition is the CRD of Cluster API's Clusters.
const clusterDefinition = "clusters.cluster.x-k8s.io"

// secretSuffix is what Cluster API's contract for kubeconfig Secrets appends to a Cluster's name.
const secretSuffix = "-kubeconfig"

var clusterKind = clusterv1.GroupVersion.WithKind("Cluster")

func definition() *metav1.PartialObjectMetadata {
	crd := &metav1.PartialObjectMetadata{}
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	return crd
}

// clusterAPI looks Clusters up where Cluster API is installed. It watches them from when their CRD
// appears until that is gone.
type clusterAPI struct {
	client     client.Reader
	cache      cache.Cache
	mapper     meta.RESTMapper
	controller controller.Controller

	mu       sync.Mutex
	watching bool
}

// presence of a Cluster.
type presence int

const (
	present presence = iota
	absent
	notInstalled
)

// look reads a Cluster, nil unless it is present; wake is called for those that come, change and go later.
// An error that meta.IsNoMatchError knows says that the CRD is there and the version that is needed not, or
// not yet.
func (c *clusterAPI) look(ctx context.Context, key types.NamespacedName, wake handler.MapFunc) (*clusterv1.Cluster, presence, error) {
	err := c.client.Get(ctx, client.ObjectKey{Name: clusterDefinition}, definition())
	if apierrors.IsNotFound(err) {
		return nil, notInstalled, c.unwatch(ctx)
	}
	if err != nil {
		return nil, notInstalled, fmt.Errorf("look for Cluster API: %w", err)
	}
	if err := c.watch(wake); err != nil {
		return nil, notInstalled, fmt.Errorf("watch Cluster API's Clusters: %w", err)
	}
	cluster := &clusterv1.Cluster{}
	err = c.client.Get(ctx, key, cluster)
	if apierrors.IsNotFound(err) {
		return nil, absent, nil
	}
	if err != nil {
		return nil, absent, fmt.Errorf("read Cluster: %w", err)
	}
	return cluster, present, nil
}

func (c *clusterAPI) watch(wake handler.MapFunc) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.watching {
		return nil
	}
	// A watch that starts before the kind is served would complain, and look again only after 10 s.
	if _, err := c.mapper.RESTMapping(clusterKind.GroupKind(), clusterKind.Version); err != nil {
		return err
	}
	err := c.controller.Watch(source.Kind[client.Object](c.cache, &clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(wake)))
	c.watching = err == nil
	return err
}

func (c *clusterAPI) unwatch(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.watching {
		return nil
	}
	c.watching = false
	return c.cache.RemoveInformer(ctx, &clusterv1.Cluster{})
}
