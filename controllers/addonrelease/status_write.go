package addonrelease

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
)

// statusTries is how often one status is written while people change the release beside it.
const statusTries = 5

// statusWriter writes the status of one release during one reconcile.
type statusWriter struct {
	client    client.Client
	apiReader client.Reader
	// stored is the release as it was read or written last.
	stored *addonsv1alpha1.AddonRelease
	// recorded: the status was written in this reconcile, so no other manager wrote it since it was read.
	recorded bool
	// wrote is told of each release that was written.
	wrote func(*addonsv1alpha1.AddonRelease)
}

// write writes the status, and only if it changed. A release that is gone needs none.
func (w *statusWriter) write(ctx context.Context, status addonsv1alpha1.AddonReleaseStatus) error {
	if equality.Semantic.DeepEqual(w.stored.Status, status) {
		return nil
	}
	return client.IgnoreNotFound(w.record(ctx, status))
}

// record writes the status in the middle of a reconcile, for what must not be forgotten. It does so only in
// place of the status that the reconcile began with: another manager, or an older worker of this one, may know better.
func (w *statusWriter) record(ctx context.Context, status addonsv1alpha1.AddonReleaseStatus) error {
	for try := 1; ; try++ {
		release := w.stored.DeepCopy()
		status.DeepCopyInto(&release.Status)
		err := w.client.Status().Patch(ctx, release, client.MergeFromWithOptions(w.stored, client.MergeFromWithOptimisticLock{}))
		written := false
		if apierrors.IsConflict(err) && try < statusTries {
			if written, err = w.rebase(ctx, release); err == nil && !written {
				continue
			}
		}
		if err != nil {
			return err
		}
		w.stored, w.recorded = release, true
		w.wrote(release)
		return nil
	}
}

// rebase lets the status be written over a newer version of the release in which only the rest differs. It returns true
// if the status is there already: the write was delivered twice, and the answer is that to the second.
func (w *statusWriter) rebase(ctx context.Context, release *addonsv1alpha1.AddonRelease) (bool, error) {
	live, key := &addonsv1alpha1.AddonRelease{}, client.ObjectKeyFromObject(release)
	if err := w.apiReader.Get(ctx, key, live); err != nil {
		return false, err
	}
	if live.UID != w.stored.UID {
		return false, errWrittenByAnother(key)
	}
	written, err := sameStatus(live, release)
	if err != nil {
		return false, err
	}
	if written {
		live.DeepCopyInto(release)
		return true, nil
	}
	if !equality.Semantic.DeepEqual(live.Status, w.stored.Status) {
		return false, errWrittenByAnother(key)
	}
	w.stored = w.stored.DeepCopy()
	w.stored.ResourceVersion = live.ResourceVersion
	return false, nil
}

// sameStatus compares two statuses as they are stored, where times have seconds only.
func sameStatus(a, b *addonsv1alpha1.AddonRelease) (bool, error) {
	one, err := json.Marshal(a.Status)
	if err != nil {
		return false, err
	}
	other, err := json.Marshal(b.Status)
	return bytes.Equal(one, other), err
}

func errWrittenByAnother(key client.ObjectKey) error {
	return fmt.Errorf("the status of AddonRelease %s was written by another manager; it is read again first", key)
}
