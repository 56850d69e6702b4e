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
// +kubebuilder:rbac:groups="",resources=configmaps,resourceNames=daytwo-orphans,verbs=update;delete

// Ledger reads and writes the ledgers of all namespaces.
type Ledger struct {
	// Reader reads from the API server, not from a cache.
	Reader client.Reader
	Writer client.Writer
}

// Read returns what the ledger of a namespace says; nothing if there is none.
func (l Ledger) Read(ctx context.Context, namespace string) (Content, error) {
	ledger, err := l.get(ctx, namespace)
	if err != nil {
		return Content{}, fmt.Errorf("read ConfigMap %s/%s: %w", namespace, Name, err)
	}
	return read(ledger.Data), nil
}

// Record adds an entry to the ledger of the TenantCluster's namespace. Where nothing can be recorded, as in a
// namespace that is going itself, that is no error: the Event is all there is then.
func (l Ledger) Record(ctx context.Context, entry Entry) error {
	err := l.change(ctx, entry.Cluster.Namespace, func(ledger map[string]string) (map[string]string, error) {
		return add(ledger, entry)
	})
	if err != nil && !isFinal(err) {
		return fmt.Errorf("record what may remain in ConfigMap %s/%s: %w", entry.Cluster.Namespace, Name, err)
	}
	return nil
}

// Revise changes entries that are in the ledger of a namespace, each as the ledger has it by now, and removes
// those of which nothing remains, and in the end the ledger. What people write meanwhile is kept.
func (l Ledger) Revise(ctx context.Context, namespace string, revise func(Entry) Entry) error {
	err := l.change(ctx, namespace, func(ledger map[string]string) (map[string]string, error) {
		return revised(ledger, revise)
	})
	if err != nil {
		return fmt.Errorf("write ConfigMap %s/%s: %w", namespace, Name, err)
	}
	return nil
}

// change writes what a function makes of the ledger, again if somebody else was faster.
func (l Ledger) change(ctx context.Context, namespace string, change func(map[string]string) (map[string]string, error)) error {
	return retry.OnError(retry.DefaultBackoff, raced, func() error {
		ledger, err := l.get(ctx, namespace)
		if err != nil {
			return err
		}
		changed, err := change(ledger.Data)
		if err != nil || maps.Equal(changed, ledger.Data) {
			return err
		}
		return l.write(ctx, ledger, changed)
	})
}

// get returns an empty ledger, without a UID, if there is none.
func (l Ledger) get(ctx context.Context, namespace string) (*corev1.ConfigMap, error) {
	ledger := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: Name}}
	return ledger, client.IgnoreNotFound(l.Reader.Get(ctx, client.ObjectKeyFromObject(ledger), ledger))
}

func (l Ledger) write(ctx context.Context, ledger *corev1.ConfigMap, content map[string]string) error {
	if ledger.UID == "" {
		ledger.Data = content
		return l.Writer.Create(ctx, ledger)
	}
	if len(content) == 0 && len(ledger.BinaryData) == 0 {
		return l.Writer.Delete(ctx, ledger, client.Preconditions{UID: &ledger.UID, ResourceVersion: &ledger.ResourceVersion})
	}
	ledger.Data = content
	return l.Writer.Update(ctx, ledger)
}

// raced tells that somebody else wrote the ledger meanwhile, or deleted it.
func raced(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err)
}

// isFinal tells that no further try helps: the namespace is gone or going, its quota is used up, somebody made the
// ledger immutable, or a policy of the management cluster refuses it. A deletion must not hang on that.
func isFinal(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)
}
