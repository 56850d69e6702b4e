package orphans

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;create
// +kubebuilder:rbac:groups="",resources=configmaps,resourceNames=daytwo-orphans,verbs=update

// Ledger writes the ledgers of all namespaces.
type Ledger struct {
	// Reader reads from the API server, not from a cache.
	Reader client.Reader
	Writer client.Writer
}

// Record adds an entry to the ledger of the TenantCluster's namespace. Where nothing can be recorded, as in a
// namespace that is going itself, that is no error: the Event is all there is then.
func (l Ledger) Record(ctx context.Context, entry Entry) error {
	err := retry.OnError(retry.DefaultBackoff, raced, func() error { return l.record(ctx, entry) })
	if err != nil && !isFinal(err) {
		return fmt.Errorf("record what may remain in ConfigMap %s/%s: %w", entry.Cluster.Namespace, Name, err)
	}
	return nil
}

// raced tells that somebody else wrote the ledger meanwhile, or deleted it.
func raced(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err)
}

// isFinal tells that no further try helps: the namespace is gone or going, its quota is used up, or somebody
// made the ledger immutable. A deletion must not hang on that.
func isFinal(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || apierrors.IsInvalid(err)
}

func (l Ledger) record(ctx context.Context, entry Entry) error {
	ledger := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: entry.Cluster.Namespace, Name: Name}}
	err := l.Reader.Get(ctx, client.ObjectKeyFromObject(ledger), ledger)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	missing := err != nil
	grown, err := add(ledger.Data, entry)
	if err != nil || maps.Equal(grown, ledger.Data) {
		return err
	}
	ledger.Data = grown
	if missing {
		return l.Writer.Create(ctx, ledger)
	}
	return l.Writer.Update(ctx, ledger)
}
