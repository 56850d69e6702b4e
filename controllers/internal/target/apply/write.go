package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// maxTakeovers bounds how often one write moves ownership before it leaves the rest to the next try:
// somebody may be writing as fast as we do.
const maxTakeovers = 4

// ClusterView is what a release needs of its cluster.
type ClusterView interface {
	resolver
	Identity() types.UID
	Confirm(ctx context.Context) error
	Apply(ctx context.Context, ref objects.Ref, uid types.UID, body []byte, force bool) (*metav1.PartialObjectMetadata, error)
	Patch(ctx context.Context, ref objects.Ref, uid types.UID, patch []byte) (*metav1.PartialObjectMetadata, error)
	Get(ctx context.Context, ref objects.Ref) (*metav1.PartialObjectMetadata, error)
	Delete(ctx context.Context, ref objects.Ref, uid types.UID) error
}

// Written is what came of a write.
type Written struct {
	Write
	// UID is what the object must have that the next request writes to; empty if it may be created.
	UID types.UID
	// Result is the object as the API server answered; nil if the write failed.
	Result *metav1.PartialObjectMetadata
	// Fingerprint of the result.
	Fingerprint string
	// relinquished are the fields that were left out.
	relinquished []string
	// adopted: the object was there before.
	adopted bool
	// Contested: the answer showed changes of others, which were taken back as well.
	Contested bool
	// unwatched: the object only has to be there; what others do to it is no drift.
	unwatched bool
	// Claim is whose the object is, if it was left to them.
	objects.Claim
	Err error
	// Took is the time from the event that asked for a correction to the answer.
	Took time.Duration
	At   time.Time
}

// Writer applies objects to one cluster.
type Writer struct {
	Cluster      ClusterView
	Tracker      *tracker.Tracker
	Rules        managedfields.Rules
	Installation string
	// Owns is whether an object carries the marks of the target.
	Owns func(object metav1.Object) bool
	Now  func() time.Time
}

// Do carries one write out. Events of the object are held back meanwhile: ours may come before our
// answer.
func (w *Writer) Do(ctx context.Context, one Write) Written {
	w.Tracker.Begin(one.Key())
	done := Written{Write: one, UID: one.knownUID()}
	switch {
	case one.Purpose == PurposeCreate && one.Adoption == AdoptNothing:
		w.createOnly(ctx, &done)
	case one.Purpose == PurposeCreate:
		w.create(ctx, &done)
	default:
		w.overwrite(ctx, &done)
	}
	done.At = w.Now()
	if one.Seen != nil {
		done.Took = done.At.Sub(one.Seen.At)
	}
	var expected *tracker.Expectation
	if done.Result != nil && !done.unwatched {
		// As the watch does it, which does not know what is declared.
		done.Fingerprint = w.Rules.Assess(done.Result, managedfields.Subject{Kind: one.GroupKind(), Tolerance: one.tolerance}).Fingerprint
		expected = &tracker.Expectation{
			UID: done.Result.UID, ResourceVersion: done.Result.ResourceVersion, Fingerprint: done.Fingerprint,
		}
	}
	w.Tracker.End(one.Key(), expected)
	return done
}

// create applies an object that is not known to be ours. Without force: if it is there already, with
// other values, its owner is looked up first. One that agrees with ours by chance shows in the answer.
func (w *Writer) create(ctx context.Context, done *Written) {
	answer, err := w.Cluster.Apply(ctx, done.Ref, "", done.Body, false)
	switch {
	case apierrors.IsConflict(err):
		w.adopt(ctx, done)
	case err != nil:
		done.Err = err
	case done.Implied && done.Stage == prerequisites && done.GroupKind() == objects.DefinitionKind && !w.existedBefore(answer):
		done.Result, done.unwatched = answer, true
	case done.Implied && (w.existedBefore(answer) || len(w.Rules.Others(answer.ManagedFields)) > 0):
		// It only has to be there; what it is like is its owner's business.
		done.adopted, done.Result, done.unwatched = true, answer, true
		done.Err = w.relinquish(ctx, done.Ref, answer.UID)
	case len(w.Rules.Others(answer.ManagedFields)) == 0:
		done.Result = answer
		done.adopted = done.Entry.Adopted || w.existedBefore(answer)
	default:
		done.adopted = true
		if ours := w.acquire(ctx, done, answer, w.claimBefore(answer)); ours != nil {
			w.settle(ctx, done, ours)
		} else if done.Err == nil {
			done.Err = w.relinquish(ctx, done.Ref, answer.UID)
		}
	}
}

// existedBefore tells from the answer to a first apply whether the object was there already. Applying
// the same again, after a crash, does not change the time of our entry.
func (w *Writer) existedBefore(answer *metav1.PartialObjectMetadata) bool {
	ours := w.Rules.Ours(answer.ManagedFields)
	return ours < 0 || answer.ManagedFields[ours].Time.After(answer.CreationTimestamp.Time)
}

// adopt takes an object over that is there already, unless it belongs to somebody.
func (w *Writer) adopt(ctx context.Context, done *Written) {
	existing, err := w.Cluster.Get(ctx, done.Ref)
	if err != nil {
		done.Err = err
		return
	}
	done.adopted, done.UID = true, existing.UID
	if done.Implied {
		done.Result, done.unwatched = existing, true
		return
	}
	if w.acquire(ctx, done, existing, w.adoptedFrom(existing)) != nil {
		w.overwrite(ctx, done)
	}
}

// claimOf says who else an object belongs to.
func (w *Writer) claimOf(object metav1.Object) objects.Claim {
	return claimOf(object, w.Installation, w.Owns)
}

// relinquish gives up what an apply took of an object that belongs to somebody else.
func (w *Writer) relinquish(ctx context.Context, ref objects.Ref, uid types.UID) error {
	body, err := json.Marshal(map[string]any{
		"apiVersion": ref.GroupVersion().String(), "kind": ref.Kind,
		"metadata": map[string]any{"name": ref.Name, "namespace": ref.Namespace},
	})
	if err != nil {
		return err
	}
	_, err = w.Cluster.Apply(ctx, ref, uid, body, true)
	return err
}

// overwrite applies an object that is ours, whatever others set in it. What they added beyond what is
// declared is taken over first, so that the apply removes it.
func (w *Writer) overwrite(ctx context.Context, done *Written) {
	object, err := w.before(ctx, done)
	if err == nil && object != nil {
		if err = w.identify(ctx, done, object); err == nil {
			err = w.revert(ctx, done, object)
		}
	}
	if err != nil {
		done.Err = err
		return
	}
	answer, err := w.apply(ctx, done)
	if err != nil {
		done.Err = w.replace(ctx, done, err)
		return
	}
	w.settle(ctx, done, answer)
}

// before returns the object as it was seen, where that matters: somebody changed it, or set what we
// relinquish. One that is gone from the watch may only have lost our label. Of one with large metadata the watch kept too
// little.
func (w *Writer) before(ctx context.Context, done *Written) (*metav1.PartialObjectMetadata, error) {
	drifted := done.Seen != nil && done.Seen.Object != nil && !done.Seen.Gone
	if drifted && len(done.Seen.Object.ManagedFields) > 0 {
		return done.Seen.Object, nil
	}
	if !drifted && len(done.Entry.Relinquished) == 0 {
		return nil, nil
	}
	object, err := w.Cluster.Get(ctx, done.Ref)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return object, err
}

// revert decides from what was seen what to relinquish, and moves ownership if an apply alone would not
// do.
func (w *Writer) revert(ctx context.Context, done *Written, object *metav1.PartialObjectMetadata) error {
	subject := done.subject()
	relinquished, err := w.Rules.Relinquished(object, subject)
	if err != nil {
		return err
	}
	done.relinquished = DeclaredAmong(subject.Declared, relinquished)
	if !managedfields.Intrudes(w.Rules.Foreign(object, subject), subject.Declared) {
		return nil
	}
	return w.takeOver(ctx, done, object)
}

// takeOver moves what others own to us. If they wrote in between, it looks again.
func (w *Writer) takeOver(ctx context.Context, done *Written, object *metav1.PartialObjectMetadata) error {
	for range maxTakeovers {
		patch, err := w.Rules.Takeover(object, done.subject())
		if err != nil || patch == nil {
			return err
		}
		_, err = w.Cluster.Patch(ctx, done.Ref, object.UID, patch)
		if !apierrors.IsInvalid(err) && !apierrors.IsConflict(err) {
			return IgnoreGone(err)
		}
		if object, err = w.Cluster.Get(ctx, done.Ref); err != nil {
			return IgnoreGone(err)
		}
		if err := w.identify(ctx, done, object); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s: others keep writing to it", done.Ref)
}

// IgnoreGone returns nil for an object that is gone: the apply that follows makes it anew.
func IgnoreGone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// settle looks for entries of others in the answer to an apply. To take such an answer as what we
// expect would bless what they added just before.
func (w *Writer) settle(ctx context.Context, done *Written, answer *metav1.PartialObjectMetadata) {
	for range maxTakeovers {
		done.UID = answer.UID
		if len(w.Rules.Others(answer.ManagedFields)) == 0 || len(w.Rules.Foreign(answer, done.subject())) == 0 {
			done.Result = answer
			return
		}
		done.Contested = true
		if done.Actor.Manager == "" {
			// They wrote after what was seen; this is the last that is seen of them.
			done.Actor = Attribute(&tracker.Seen{Object: answer}, done.subject(), w.Rules)
		}
		if done.Err = w.takeOver(ctx, done, answer); done.Err != nil {
			return
		}
		if answer, done.Err = w.apply(ctx, done); done.Err != nil {
			return
		}
	}
	done.Err = fmt.Errorf("%s: others keep writing to it", done.Ref)
}
