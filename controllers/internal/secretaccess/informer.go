package secretaccess

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
)

// Pauses between tries to list a namespace that may not be listed.
const (
	firstPause = time.Second
	lastPause  = 5 * time.Minute
	// storeCheck is how often it is looked whether the store has what was listed.
	storeCheck = 10 * time.Millisecond
)

// NewInformer is for cache.Options: informers of Secrets do not wait for a namespace that may not be listed.
func (a *Access) NewInformer() func(toolscache.ListerWatcher, runtime.Object, time.Duration, toolscache.Indexers) toolscache.SharedIndexInformer {
	if a == nil {
		return nil
	}
	return func(inner toolscache.ListerWatcher, object runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
		if !isOfSecrets(object) {
			return toolscache.NewSharedIndexInformer(inner, object, resync, indexers)
		}
		l := &lister{inner: toolscache.ToListerWatcherWithContext(inner), access: a, wake: make(chan struct{}, 1), pause: firstPause}
		informer := toolscache.NewSharedIndexInformer(l, object, resync, indexers)
		l.store = informer.GetStore()
		return informer
	}
}

// lister lists and watches Secrets for an informer. A list that the RoundTripper refuses with an *Error counts as empty. A reflector
// calls one method at a time.
type lister struct {
	inner  toolscache.ListerWatcherWithContext
	access *Access
	// store of the informer.
	store toolscache.Store
	// denied is why the last list was refused; nil if it was not.
	denied *Error
	// filling is the namespace that was refused before, until the store has what was listed; keys are those of that.
	filling string
	keys    []string
	// wake asks for a try before the pause is over.
	wake  chan struct{}
	pause time.Duration
}

// IsWatchListSemanticsUnSupported has the reflector list before it watches: only a list tells when the store is complete again.
func (l *lister) IsWatchListSemanticsUnSupported() bool { return true }

// List implements toolscache.ListerWatcher.
func (l *lister) List(options metav1.ListOptions) (runtime.Object, error) {
	return l.ListWithContext(context.Background(), options)
}

// Watch implements toolscache.ListerWatcher.
func (l *lister) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return l.WatchWithContext(context.Background(), options)
}

// ListWithContext implements toolscache.ListerWatcherWithContext.
func (l *lister) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	list, err := l.inner.ListWithContext(ctx, options)
	if denied := Of(err); denied != nil {
		l.access.deny(denied, l.wake)
		l.denied, l.filling, l.keys = denied, denied.Namespace, nil
		return &metav1.PartialObjectMetadataList{}, nil
	}
	if err != nil {
		return nil, err
	}
	l.denied = nil
	if l.filling == "" {
		return list, nil
	}
	if options.Continue == "" {
		l.keys = nil
	}
	return list, meta.EachListItem(list, func(item runtime.Object) error {
		key, err := toolscache.MetaNamespaceKeyFunc(item)
		l.keys = append(l.keys, key)
		return err
	})
}

// WatchWithContext implements toolscache.ListerWatcherWithContext. While the list is refused it waits until that is over, and has
// it made again then.
func (l *lister) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	if l.denied != nil {
		if err := l.awaitPermission(ctx); err != nil {
			return nil, err
		}
		return nil, apierrors.NewResourceExpired("Secrets of namespace " + l.filling + " are listed again")
	}
	if l.filling != "" {
		if err := wait.PollUntilContextCancel(ctx, storeCheck, true, l.isStored); err != nil {
			return nil, err
		}
		l.access.permit(l.filling, l.wake)
		l.filling, l.keys = "", nil
	}
	return l.inner.WatchWithContext(ctx, options)
}

// awaitPermission returns when a list is not refused.
func (l *lister) awaitPermission(ctx context.Context) error {
	l.pause = firstPause
	for {
		if err := l.awaitTry(ctx); err != nil {
			return err
		}
		_, err := l.inner.ListWithContext(ctx, metav1.ListOptions{Limit: 1})
		if Of(err) == nil {
			return nil
		}
		l.pause = min(2*l.pause, lastPause)
	}
}

// awaitTry returns when the pause is over, or somebody asks; tries are not closer together than the first pause.
func (l *lister) awaitTry(ctx context.Context) error {
	for _, pause := range []struct {
		of   time.Duration
		wake <-chan struct{}
	}{{firstPause, nil}, {wait.Jitter(l.pause, 0.2) - firstPause, l.wake}} {
		timer := time.NewTimer(pause.of)
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-pause.wake:
		}
		timer.Stop()
	}
	return ctx.Err()
}

// isStored is whether the store has all that was listed.
func (l *lister) isStored(context.Context) (bool, error) {
	for _, key := range l.keys {
		if _, found, err := l.store.GetByKey(key); err != nil || !found {
			return false, err
		}
	}
	return true, nil
}
