package addonrelease

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// maxTakeovers bounds how often one write moves ownership before it leaves the rest to the next try:
// somebody may be writing as fast as we do.
const maxTakeovers = 4

// clusterView is what a release needs of its cluster.
type clusterView interface {
	resolver
	Identity() types.UID
	Confirm(ctx context.Context) error
	Apply(ctx context.Context, ref objects.Ref, uid types.UID, body []byte, force bool) (*metav1.PartialObjectMetadata, error)
	Patch(ctx context.Context, ref objects.Ref, uid types.UID, patch []byte) (*metav1.PartialObjectMetadata, error)
	Get(ctx context.Context, ref objects.Ref) (*metav1.PartialObjectMetadata, error)
	Delete(ctx context.Context, ref objects.Ref, uid types.UID) error
}

// written is what came of a write.
type written struct {
	write
	// uid is what the object must have that the next request writes to; empty if it may be created.
	uid types.UID
	// result is the object as the API server answered; nil if the write failed.
	result *metav1.PartialObjectMetadata
	// fingerprint of the result.
	fingerprint string
	// yielded are the fields that were left out.
	yielded []string
	// adopted: the object was there before.
	adopted bool
	// contested: the answer showed changes of others, which were taken back as well.
	contested bool
	// unwatched: the object only has to be there; what others do to it is no drift.
	unwatched bool
	// owner is whom the object belongs to, if it was left to them.
	owner string
	err   error
	// took is the time from the event that asked for a correction to the answer.
	took time.Duration
	at   time.Time
}

// writer applies objects to one cluster.
type writer struct {
	cluster      clusterView
	tracker      *fleet.Tracker
	rules        managedfields.Rules
	installation string
	// owns is whether an object carries the marks of the target.
	owns func(object metav1.Object) bool
	now  func() time.Time
}

// do carries one write out. Events of the object are held back meanwhile: ours may come before our
// answer.
func (w *writer) do(ctx context.Context, one write) written {
	w.tracker.Begin(one.Key())
	done := written{write: one, uid: one.knownUID()}
	if one.purpose == create {
		w.create(ctx, &done)
	} else {
		w.overwrite(ctx, &done)
	}
	done.at = w.now()
	if one.seen != nil {
		done.took = done.at.Sub(one.seen.At)
	}
	var expected *fleet.Expectation
	if done.result != nil && !done.unwatched {
		// As the watch does it, which does not know what is declared.
		done.fingerprint = w.rules.Assess(done.result, managedfields.Subject{Kind: one.GroupKind(), Tolerance: one.tolerance}).Fingerprint
		expected = &fleet.Expectation{
			UID: done.result.UID, ResourceVersion: done.result.ResourceVersion, Fingerprint: done.fingerprint,
		}
	}
	w.tracker.End(one.Key(), expected)
	return done
}

// create applies an object that is not known to be ours. Without force: if it is there already, with
// other values, its owner is looked up first. One that agrees with ours by chance shows in the answer.
func (w *writer) create(ctx context.Context, done *written) {
	answer, err := w.cluster.Apply(ctx, done.Ref, "", done.body, false)
	switch {
	case apierrors.IsConflict(err):
		w.adopt(ctx, done)
	case err != nil:
		done.err = err
	case done.implied && done.stage == foundations && done.GroupKind() == objects.DefinitionKind && !w.existedBefore(answer):
		done.result, done.unwatched = answer, true
	case done.implied && (w.existedBefore(answer) || len(w.rules.Others(answer.ManagedFields)) > 0):
		// It only has to be there; what it is like is its owner's business.
		done.adopted, done.result, done.unwatched = true, answer, true
		done.err = w.letGo(ctx, done.Ref, answer.UID)
	case len(w.rules.Others(answer.ManagedFields)) == 0:
		done.result = answer
		done.adopted = done.entry.adopted || w.existedBefore(answer)
	default:
		done.adopted = true
		if done.owner = w.ownerBefore(answer); done.owner != "" {
			done.err = w.letGo(ctx, done.Ref, answer.UID)
			return
		}
		w.settle(ctx, done, answer)
	}
}

// existedBefore tells from the answer to a first apply whether the object was there already. Applying
// the same again, after a crash, does not change the time of our entry.
func (w *writer) existedBefore(answer *metav1.PartialObjectMetadata) bool {
	ours := w.rules.Ours(answer.ManagedFields)
	return ours < 0 || answer.ManagedFields[ours].Time.After(answer.CreationTimestamp.Time)
}

// adopt takes an object over that is there already, unless it belongs to somebody.
func (w *writer) adopt(ctx context.Context, done *written) {
	existing, err := w.cluster.Get(ctx, done.Ref)
	if err != nil {
		done.err = err
		return
	}
	done.adopted, done.uid = true, existing.UID
	if done.implied {
		done.result, done.unwatched = existing, true
		return
	}
	if done.owner = w.ownerOf(existing); done.owner == "" {
		w.overwrite(ctx, done)
	}
}

// ownerOf says who else an object belongs to; empty for nobody.
func (w *writer) ownerOf(object metav1.Object) string {
	return claimedBy(object, w.installation, w.owns)
}

// letGo gives up what an apply took of an object that belongs to somebody else.
func (w *writer) letGo(ctx context.Context, ref objects.Ref, uid types.UID) error {
	body, err := json.Marshal(map[string]any{
		"apiVersion": ref.GroupVersion().String(), "kind": ref.Kind,
		"metadata": map[string]any{"name": ref.Name, "namespace": ref.Namespace},
	})
	if err != nil {
		return err
	}
	_, err = w.cluster.Apply(ctx, ref, uid, body, true)
	return err
}

// overwrite applies an object that is ours, whatever others set in it. What they added beyond what is
// declared is taken over first, so that the apply removes it.
func (w *writer) overwrite(ctx context.Context, done *written) {
	object, err := w.before(ctx, done)
	if err == nil && object != nil {
		if err = w.identify(ctx, done, object); err == nil {
			err = w.takeBack(ctx, done, object)
		}
	}
	if err != nil {
		done.err = err
		return
	}
	answer, err := w.apply(ctx, done)
	if err != nil {
		done.err = err
		return
	}
	w.settle(ctx, done, answer)
}

// before returns the object as it was seen, where that matters: somebody changed it, or set what we
// yield. One that is gone from the watch may only have lost our label. Of one with large metadata the watch kept too
// little.
func (w *writer) before(ctx context.Context, done *written) (*metav1.PartialObjectMetadata, error) {
	drifted := done.seen != nil && done.seen.Object != nil && !done.seen.Gone
	if drifted && len(done.seen.Object.ManagedFields) > 0 {
		return done.seen.Object, nil
	}
	if !drifted && len(done.entry.yielded) == 0 {
		return nil, nil
	}
	object, err := w.cluster.Get(ctx, done.Ref)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return object, err
}

// takeBack decides from what was seen what to yield, and moves ownership if an apply alone would not
// do.
func (w *writer) takeBack(ctx context.Context, done *written, object *metav1.PartialObjectMetadata) error {
	subject := done.subject()
	yielded, err := w.rules.Yielded(object, subject)
	if err != nil {
		return err
	}
	done.yielded = declaredAmong(subject.Declared, yielded)
	if !managedfields.Intrudes(w.rules.Foreign(object, subject), subject.Declared) {
		return nil
	}
	return w.takeOver(ctx, done, object)
}

// takeOver moves what others own to us. If they wrote in between, it looks again.
func (w *writer) takeOver(ctx context.Context, done *written, object *metav1.PartialObjectMetadata) error {
	for range maxTakeovers {
		patch, err := w.rules.Takeover(object, done.subject())
		if err != nil || patch == nil {
			return err
		}
		_, err = w.cluster.Patch(ctx, done.Ref, object.UID, patch)
		if !apierrors.IsInvalid(err) && !apierrors.IsConflict(err) {
			return ignoreGone(err)
		}
		if object, err = w.cluster.Get(ctx, done.Ref); err != nil {
			return ignoreGone(err)
		}
		if err := w.identify(ctx, done, object); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s: others keep writing to it", done.Ref)
}

// ignoreGone: the apply that follows makes it anew.
func ignoreGone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// settle looks for entries of others in the answer to an apply. To take such an answer as what we
// expect would bless what they added just before.
func (w *writer) settle(ctx context.Context, done *written, answer *metav1.PartialObjectMetadata) {
	for range maxTakeovers {
		done.uid = answer.UID
		if len(w.rules.Others(answer.ManagedFields)) == 0 || len(w.rules.Foreign(answer, done.subject())) == 0 {
			done.result = answer
			return
		}
		done.contested = true
		if done.culprit.manager == "" {
			// They wrote after what was seen; this is the last that is seen of them.
			done.culprit = blame(&fleet.Seen{Object: answer}, done.subject(), w.rules)
		}
		if done.err = w.takeOver(ctx, done, answer); done.err != nil {
			return
		}
		if answer, done.err = w.apply(ctx, done); done.err != nil {
			return
		}
	}
	done.err = fmt.Errorf("%s: others keep writing to it", done.Ref)
}
