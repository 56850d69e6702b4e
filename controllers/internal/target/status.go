package target

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// statusTries is how often one status is written while people change the target beside it.
const statusTries = 5

// StatusWriter writes the status of one target during one reconcile.
type StatusWriter[T metav1alpha1.Target, S, M any] struct {
	client    client.Client
	apiReader client.Reader
	kind      Kind[T, S, M]
	// stored is the target as it was read or written last.
	stored T
	// recorded: the status was written in this reconcile, so no other manager wrote it since it was read.
	recorded bool
	// wrote is told of each version of the target that was written.
	wrote func(T)
}

// Stored is the target as it was read or written last. It must not be changed.
func (w *StatusWriter[T, S, M]) Stored() T { return w.stored }

// Write writes the status, and only if it changed. A target that is gone needs none.
func (w *StatusWriter[T, S, M]) Write(ctx context.Context, status S) error {
	if equality.Semantic.DeepEqual(*w.kind.Status(w.stored), status) {
		return nil
	}
	return client.IgnoreNotFound(w.Record(ctx, status))
}

// Confirm makes sure that what was read is the latest, as the cache may be behind: unless that is known already, it
// writes a status again that was read.
func (w *StatusWriter[T, S, M]) Confirm(ctx context.Context, status S) error {
	if w.recorded {
		return nil
	}
	return w.Record(ctx, status)
}

// Record writes the status in the middle of a reconcile, for what must not be forgotten. It does so only in
// place of the status that the reconcile began with: another manager, or an older worker of this one, may know better.
func (w *StatusWriter[T, S, M]) Record(ctx context.Context, status S) error {
	for try := 1; ; try++ {
		next := clone(w.stored)
		w.kind.CopyStatus(w.kind.Status(next), &status)
		err := w.client.Status().Patch(ctx, next, client.MergeFromWithOptions(w.stored, client.MergeFromWithOptimisticLock{}))
		if apierrors.IsConflict(err) && try < statusTries {
			var written T
			var found bool
			if written, found, err = w.rebase(ctx, next); err == nil && !found {
				continue
			}
			next = written
		}
		if err != nil {
			return err
		}
		w.stored, w.recorded = next, true
		w.wrote(next)
		return nil
	}
}

// rebase lets the status be written over a newer version of the target in which only the rest differs. It returns that
// version if it has the status already: the write was delivered twice, and the answer is that to the second.
func (w *StatusWriter[T, S, M]) rebase(ctx context.Context, next T) (live T, written bool, err error) {
	live = w.kind.New()
	key := client.ObjectKeyFromObject(next)
	if err := w.apiReader.Get(ctx, key, live); err != nil {
		return live, false, err
	}
	if live.GetUID() != w.stored.GetUID() {
		return live, false, w.writtenByAnother(key)
	}
	if written, err = sameJSON(w.kind.Status(live), w.kind.Status(next)); err != nil || written {
		return live, written, err
	}
	if !equality.Semantic.DeepEqual(w.kind.Status(live), w.kind.Status(w.stored)) {
		return live, false, w.writtenByAnother(key)
	}
	w.stored = clone(w.stored)
	w.stored.SetResourceVersion(live.GetResourceVersion())
	return live, false, nil
}

// sameJSON compares two statuses as they are stored, where times have seconds only.
func sameJSON(a, b any) (bool, error) {
	one, err := json.Marshal(a)
	if err != nil {
		return false, err
	}
	other, err := json.Marshal(b)
	return bytes.Equal(one, other), err
}

func (w *StatusWriter[T, S, M]) writtenByAnother(key client.ObjectKey) error {
	return fmt.Errorf("the status of %s %s was written by another manager; it is read again first", w.kind.Name(), key)
}
