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

// writeStatus writes the status once, and only if it changed.
func (r *Reconciler) writeStatus(ctx context.Context, o *observed) error {
	if equality.Semantic.DeepEqual(o.stored.Status, o.release.Status) {
		return nil
	}
	return client.IgnoreNotFound(r.record(ctx, o))
}

// record writes the status in the middle of a reconcile, for what must not be forgotten. It does so only in
// place of the status that the reconcile began with: another manager, or an older worker of this one, may know better.
func (r *Reconciler) record(ctx context.Context, o *observed) error {
	for try := 1; ; try++ {
		err := r.Client.Status().Patch(ctx, o.release, client.MergeFromWithOptions(o.stored, client.MergeFromWithOptimisticLock{}))
		written := false
		if apierrors.IsConflict(err) && try < statusTries {
			if written, err = r.rebase(ctx, o); err == nil && !written {
				continue
			}
		}
		if err != nil {
			return err
		}
		o.stored, o.recorded = o.release.DeepCopy(), true
		r.memory.of(client.ObjectKeyFromObject(o.release)).wrote(o.release)
		return nil
	}
}

// rebase lets the status be written over a newer version of the release in which only the rest differs. It returns true
// if the status is there already: the write was delivered twice, and the answer is that to the second.
func (r *Reconciler) rebase(ctx context.Context, o *observed) (bool, error) {
	live, key := &addonsv1alpha1.AddonRelease{}, client.ObjectKeyFromObject(o.release)
	if err := r.Reader.Get(ctx, key, live); err != nil {
		return false, err
	}
	if live.UID != o.stored.UID {
		return false, errWrittenByAnother(key)
	}
	written, err := sameStatus(live, o.release)
	if err != nil {
		return false, err
	}
	if written {
		live.DeepCopyInto(o.release)
		return true, nil
	}
	if !equality.Semantic.DeepEqual(live.Status, o.stored.Status) {
		return false, errWrittenByAnother(key)
	}
	o.stored.ResourceVersion = live.ResourceVersion
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
