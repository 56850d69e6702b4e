package secretaccess

import (
	"slices"
	"sync"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Access is to the Secrets of some namespaces; nil for those of all. Safe for concurrent use.
type Access struct {
	namespaces sets.Set[string]
	// given are those of the namespaces that somebody named, and that so should be there.
	given sets.Set[string]
	log   logr.Logger

	mu sync.Mutex
	// denied are the namespaces that may not be listed, and whom to wake for another try.
	denied map[string]sets.Set[chan struct{}]
}

// New returns the access to the Secrets of some namespaces, and of those for Clusters beside them; nil if there are none.
func New(namespaces []string, beside func(namespace string) string, log logr.Logger) *Access {
	if len(namespaces) == 0 {
		return nil
	}
	a := &Access{namespaces: sets.New(namespaces...), given: sets.New(namespaces...), log: log, denied: map[string]sets.Set[chan struct{}]{}}
	for _, namespace := range namespaces {
		a.namespaces.Insert(beside(namespace))
	}
	return a
}

// IsNarrow is whether there are Secrets that the manager may not read.
func (a *Access) IsNarrow() bool { return a != nil }

// Namespaces are those with Secrets that the manager may read, sorted; none for all.
func (a *Access) Namespaces() []string {
	if a == nil {
		return nil
	}
	return slices.Sorted(slices.Values(a.namespaces.UnsortedList()))
}

// CacheOptions narrow the manager's cache. They belong into its cache.Options.ByObject.
func (a *Access) CacheOptions() map[client.Object]cache.ByObject {
	if a == nil {
		return nil
	}
	namespaces := map[string]cache.Config{}
	for namespace := range a.namespaces {
		namespaces[namespace] = cache.Config{}
	}
	return map[client.Object]cache.ByObject{&corev1.Secret{}: {Namespaces: namespaces}}
}

// Check returns an *Error if the Secrets of a namespace cannot be read, as far as is known without a request. Then it has another
// try made.
func (a *Access) Check(namespace string) error {
	if a == nil {
		return nil
	}
	if !a.namespaces.Has(namespace) {
		return &Error{Namespace: namespace}
	}
	if a.TryNow(namespace) {
		return &Error{Namespace: namespace, Listed: true}
	}
	return nil
}

// TryNow has a namespace listed that could not be. It returns whether it is one.
func (a *Access) TryNow(namespace string) bool {
	if a == nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for wake := range a.denied[namespace] {
		select {
		case wake <- struct{}{}:
		default: // It was asked for already.
		}
	}
	return len(a.denied[namespace]) > 0
}

// deny notes that a namespace may not be listed.
func (a *Access) deny(denied *Error, wake chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.denied[denied.Namespace] == nil {
		a.denied[denied.Namespace] = sets.New[chan struct{}]()
		a.loggerFor(denied.Namespace).Info("Secrets of a namespace cannot be read; all others are worked on", "namespace", denied.Namespace, "problem", denied.Error())
	}
	a.denied[denied.Namespace].Insert(wake)
}

// permit notes that a namespace was listed, and that the cache has what is there.
func (a *Access) permit(namespace string, wake chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.denied[namespace].Delete(wake)
	if len(a.denied[namespace]) == 0 {
		delete(a.denied, namespace)
		a.loggerFor(namespace).Info("Secrets of a namespace can be read now", "namespace", namespace)
	}
}

// loggerFor a namespace is a quiet one for those beside the ones that were named: most customers order no clusters.
func (a *Access) loggerFor(namespace string) logr.Logger {
	if a.given.Has(namespace) {
		return a.log
	}
	return a.log.V(1)
}
