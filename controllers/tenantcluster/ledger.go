package tenantcluster

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/orphans"
)

// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch

func ledgerMetadata() *metav1.PartialObjectMetadata {
	ledger := &metav1.PartialObjectMetadata{}
	ledger.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	return ledger
}

// ledgerMemory keeps what was read of each namespace's ledger, so that each version of it is read once for all
// TenantClusters of the namespace.
type ledgerMemory struct {
	mu      sync.Mutex
	entries map[string]ledgerVersion
}

type ledgerVersion struct {
	resourceVersion string
	content         *orphans.Content
}

func (m *ledgerMemory) recall(namespace, resourceVersion string) (*orphans.Content, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known, ok := m.entries[namespace]
	return known.content, ok && known.resourceVersion == resourceVersion
}

func (m *ledgerMemory) remember(namespace, resourceVersion string, content *orphans.Content) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.entries == nil {
		m.entries = map[string]ledgerVersion{}
	}
	m.entries[namespace] = ledgerVersion{resourceVersion, content}
}

func (m *ledgerMemory) forget(namespace string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.entries, namespace)
}

// forgetLedger of a namespace that has no TenantCluster left.
func (r *reconciler) forgetLedger(ctx context.Context, namespace string) error {
	left := &tenancyv1alpha1.TenantClusterList{}
	if err := r.client.List(ctx, left, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list TenantClusters: %w", err)
	}
	if len(left.Items) == 0 {
		r.ledgers.forget(namespace)
	}
	return nil
}

// observeLedger returns nil if the namespace has no ledger, or one that says nothing.
func (r *reconciler) observeLedger(ctx context.Context, namespace string) (*orphans.Content, error) {
	metadata := ledgerMetadata()
	err := r.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: orphans.Name}, metadata)
	if apierrors.IsNotFound(err) {
		r.ledgers.forget(namespace)
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read metadata of ConfigMap %s: %w", orphans.Name, err)
	}
	if known, ok := r.ledgers.recall(namespace, metadata.ResourceVersion); ok {
		return known, nil
	}
	content, err := r.orphans.Read(ctx, namespace)
	if err != nil {
		return nil, err
	}
	var found *orphans.Content
	if !content.IsEmpty() {
		found = &content
	}
	// It may be newer than the metadata. Then there is another event, and it is read again.
	r.ledgers.remember(namespace, metadata.ResourceVersion, found)
	return found, nil
}

// isLedger passes ledgers only.
func isLedger() predicate.Predicate {
	return predicate.NewPredicateFuncs(func(object client.Object) bool { return object.GetName() == orphans.Name })
}

// toNamespace wakes the TenantClusters of an object's namespace.
func (r *reconciler) toNamespace(ctx context.Context, object client.Object) []reconcile.Request {
	return r.find(ctx, client.InNamespace(object.GetNamespace()))
}
