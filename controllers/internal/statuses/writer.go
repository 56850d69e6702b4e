package statuses

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// maxTries is how often one status is written while people change the rest of the object.
const maxTries = 5

// Kind is a kind of objects T, whose status is an S.
type Kind[T client.Object, S any] interface {
	// Name of the kind, as in "AddonRelease".
	Name() string
	// New returns an empty object.
	New() T
	// Status is where an object keeps its status; CopyStatus writes a deep copy of a status over another one.
	Status(object T) *S
	CopyStatus(to, from *S)
}

// Writer writes the status of one object during one reconcile.
type Writer[T client.Object, S any] struct {
	client    client.Client
	apiReader client.Reader
	kind      Kind[T, S]
	latest    *Latest[T]
	// stored is the object as it was read or written last.
	stored T
	// recorded: the status was written in this reconcile, so no other manager wrote it since it was read.
	recorded bool
}

// NewWriter writes the status of an object as it was read. What is written, latest is told.
func NewWriter[T client.Object, S any](c client.Client, apiReader client.Reader, kind Kind[T, S], latest *Latest[T], read T) *Writer[T, S] {
	return &Writer[T, S]{client: c, apiReader: apiReader, kind: kind, latest: latest, stored: read}
}

// Stored is the object as it was read or written last. It must not be changed.
func (w *Writer[T, S]) Stored() T { return w.stored }

// Write writes the status, and only if it changed. An object that is gone needs none.
func (w *Writer[T, S]) Write(ctx context.Context, status S) error {
	if equality.Semantic.DeepEqual(*w.kind.Status(w.stored), status) {
		return nil
	}
	return client.IgnoreNotFound(w.Record(ctx, status))
}

// Confirm makes sure that what was read is the latest, as the cache may be behind: unless that is known already, it
// writes a status again that was read.
func (w *Writer[T, S]) Confirm(ctx context.Context, status S) error {
	if w.recorded {
		return nil
	}
	return w.Record(ctx, status)
}

// Record writes the status in the middle of a reconcile, for what must not be forgotten. It does so only in
// place of the status that the reconcile began with: another manager, or an older worker of this one, may know better.
func (w *Writer[T, S]) Record(ctx context.Context, status S) error {
	for try := 1; ; try++ {
		next := clone(w.stored)
		w.kind.CopyStatus(w.kind.Status(next), &status)
		err := w.client.Status().Patch(ctx, next, client.MergeFromWithOptions(w.stored, client.MergeFromWithOptimisticLock{}))
		if apierrors.IsConflict(err) && try < maxTries {
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
		w.latest.Wrote(next)
		return nil
	}
}

// rebase lets the status be written over a newer version of the object in which only the rest differs. It returns that
// version if it has the status already: the write was delivered twice, and the answer is that to the second.
func (w *Writer[T, S]) rebase(ctx context.Context, next T) (live T, written bool, err error) {
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

func (w *Writer[T, S]) writtenByAnother(key client.ObjectKey) error {
	return fmt.Errorf("the status of %s %s was written by another manager; it is read again first", w.kind.Name(), key)
}
