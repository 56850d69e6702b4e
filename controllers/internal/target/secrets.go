package target

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// watchSecrets has targets looked at again when a Secret changes that they use.
func (r *Reconciler[T, S, M]) watchSecrets(ctx context.Context, indexer client.FieldIndexer, b *builder.Builder) error {
	if r.Secrets == nil {
		return nil
	}
	index := "secrets-of-" + strings.ToLower(r.Kind.Name())
	err := indexer.IndexField(ctx, r.Kind.New(), index, func(object client.Object) []string { return r.Secrets(object.(T)) })
	if err != nil {
		return err
	}
	b.WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, secret client.Object) []reconcile.Request {
		list := r.Kind.NewList()
		if err := r.Client.List(ctx, list, client.InNamespace(secret.GetNamespace()), client.MatchingFields{index: secret.GetName()}); err != nil {
			r.Log.Error(err, "cannot find whose Secret it is", "object", client.ObjectKeyFromObject(secret).String())
			return nil
		}
		return requestsIn(list)
	}))
	return nil
}

func requestsIn(list client.ObjectList) (requests []reconcile.Request) {
	// It fails for what is no list alone.
	_ = meta.EachListItem(list, func(item runtime.Object) error {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(item.(client.Object))})
		return nil
	})
	return requests
}
