// Package storerestore notices that the management cluster's store was put back to a backup.
//
// Watches do not tell of it. They go on from a version that the restored store has not reached yet, so that caches keep
// showing what the backup does not have; or they fail and list again, and then what controllers remember is newer than
// what they read. What cures both is a start from nothing, so the manager ends with an error, and is started again.
package storerestore

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// probeEvery is the time between two probes.
	probeEvery = 10 * time.Second
	// probeTimeout bounds the requests of one probe.
	probeTimeout = 5 * time.Second
	// missingProbes in a row is how often an object is looked for before it is not only the cache that is late.
	missingProbes = 3
)

// Kind is a kind of objects to look at, as it is cached.
type Kind struct {
	Object client.Object
	List   client.ObjectList
}

// Detector is a runnable of the manager that ends with an error once the store is older than the manager's caches: a
// cache shows an older version of an object than before, or the API server has one. It is asked for the object of each
// kind that changed last: whatever was lost since the backup, this is part of it. Probes that fail are left out.
type Detector struct {
	// Cache is what the controllers read from, Live the API server.
	Cache cache.Cache
	Live  client.Reader
	Kinds []Kind
	Log   logr.Logger
	// ProbeEvery is the time between two probes; 0 for the default of 10 seconds.
	ProbeEvery time.Duration

	// missing counts the probes in a row at which an object was cached and not in the store.
	missing map[types.UID]int
}

// NeedLeaderElection is false, since the caches of a replica that waits for the lead are as old.
func (d *Detector) NeedLeaderElection() bool { return false }

// Start probes until the context ends, or the store was restored.
func (d *Detector) Start(ctx context.Context) error {
	every := d.ProbeEvery
	if every == 0 {
		every = probeEvery
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	found := make(chan error, 1)
	if err := d.watch(ctx, found); err != nil {
		return err
	}
	for {
		if err := d.probe(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case err := <-found:
			return err
		case <-ticker.C:
		}
	}
}

// watch tells of the first object that goes back to an older version.
func (d *Detector) watch(ctx context.Context, found chan<- error) error {
	for _, kind := range d.Kinds {
		informer, err := d.Cache.GetInformer(ctx, kind.Object)
		if err != nil {
			return fmt.Errorf("watch %T: %w", kind.Object, err)
		}
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{UpdateFunc: func(before, after any) {
			was, wasObject := before.(client.Object)
			is, isObject := after.(client.Object)
			if !wasObject || !isObject || !older(is, was) {
				return
			}
			select {
			case found <- restored(is, wentBack(was, is)):
			default:
			}
		}})
		if err != nil {
			return fmt.Errorf("watch %T: %w", kind.Object, err)
		}
	}
	return nil
}

// probe returns an error if the store was restored, and none where that cannot be told.
func (d *Detector) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	missing := map[types.UID]int{}
	for _, kind := range d.Kinds {
		cached, err := d.newest(ctx, kind.List)
		if err != nil || cached == nil {
			continue
		}
		live := cached.DeepCopyObject().(client.Object)
		err = d.Live.Get(ctx, client.ObjectKeyFromObject(cached), live)
		switch {
		case apierrors.IsNotFound(err):
			if missing[cached.GetUID()] = d.missing[cached.GetUID()] + 1; missing[cached.GetUID()] >= missingProbes {
				return restored(cached, "it is gone, and no watch tells of it")
			}
		case err != nil:
			d.Log.V(1).Info("Cannot compare the cache to the management cluster", "error", err.Error())
		case older(live, cached):
			return restored(cached, wentBack(cached, live))
		}
	}
	d.missing = missing
	return nil
}

// newest returns the object that changed last, or nil if there is none.
func (d *Detector) newest(ctx context.Context, list client.ObjectList) (client.Object, error) {
	// Nothing of it is changed or kept.
	if err := d.Cache.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	var newest client.Object
	err := meta.EachListItem(list, func(item runtime.Object) error {
		if object, ok := item.(client.Object); ok && (newest == nil || older(newest, object)) {
			newest = object
		}
		return nil
	})
	return newest, err
}

// older is false where versions cannot be compared.
func older(a, b client.Object) bool {
	order, err := resourceversion.CompareResourceVersion(a.GetResourceVersion(), b.GetResourceVersion())
	return err == nil && order < 0
}

func wentBack(from, to client.Object) string {
	return fmt.Sprintf("its version went from %s back to %s", from.GetResourceVersion(), to.GetResourceVersion())
}

func restored(object client.Object, why string) error {
	return fmt.Errorf("the management cluster was restored from a backup: %T %s: %s; the manager ends, to be started again with empty caches",
		object, client.ObjectKeyFromObject(object), why)
}
