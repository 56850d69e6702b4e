package managementserver

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// Identity is that of the cluster that the manager itself works in, which no customer may register: the UID of its namespace
// kube-system, read once.
type Identity struct {
	// Live reads past the cache.
	Live client.Reader

	mu sync.Mutex
	id types.UID
}

// Of the management cluster. An error may pass.
func (i *Identity) Of(ctx context.Context) (types.UID, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.id != "" {
		return i.id, nil
	}
	namespace := objects.MetadataOf(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := i.Live.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, namespace); err != nil {
		return "", fmt.Errorf("read the management cluster's identity: %w", err)
	}
	i.id = namespace.UID
	return i.id, nil
}
