package controllers

import (
	"context"
	"fmt"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
)

// ServedKinds knows which kinds clusters serve, once SetupAll has got it. The zero ServedKinds knows no cluster. Any number of
// goroutines may use it.
type ServedKinds struct {
	connections atomic.Pointer[fleet.Fleet]
}

// Serves asks a cluster whether it serves a kind. An error tells that this is not known, as of every cluster that the manager is not
// connected to, because it does not lead.
func (s *ServedKinds) Serves(ctx context.Context, cluster types.NamespacedName, kind schema.GroupVersionKind) (bool, error) {
	var connected *fleet.Cluster
	if connections := s.connections.Load(); connections != nil {
		connected, _ = connections.Get(cluster)
	}
	if connected == nil {
		return false, fmt.Errorf("not connected to %s", cluster)
	}
	_, err := connected.Resource(ctx, kind)
	if meta.IsNoMatchError(err) {
		return false, nil
	}
	return err == nil, err
}
