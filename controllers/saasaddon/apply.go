package saasaddon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/revision"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

// addonKind is the kind of the owner of revisions.
const addonKind = "SaaSAddon"

// errOutdated: the cache was behind, somebody else wrote first. Nothing is wrong.
var errOutdated = errors.New("written by somebody else meanwhile")

// applied is what became of a plan.
type applied struct {
	// rollout is the part of it that was carried out.
	rollout rollout.Plan
	// outdated: some of it has to be planned again, on newer objects.
	outdated bool
	// released: the finalizer is gone, and with it the add-on.
	released bool
	err      error
}

// apply carries the plan out. One failed target does not keep the others.
func (r *Reconciler) apply(ctx context.Context, seen *observed, todo Plan) applied {
	done := applied{}
	if err := r.prepare(ctx, seen.addon, todo); err != nil {
		todo.Rollout.Create, todo.Rollout.Update = nil, nil
		done.note(err)
	}
	writer := newTargetWriter(r, seen, todo)
	done.rollout.Create = carryOut(&done, todo.Rollout.Create, func(cluster rollout.Cluster) error { return writer.create(ctx, cluster) })
	done.rollout.Update = carryOut(&done, todo.Rollout.Update, func(update rollout.TargetUpdate) error { return writer.update(ctx, update) })
	done.rollout.SyncSettings = carryOut(&done, todo.Rollout.SyncSettings, func(name string) error { return writer.syncSettings(ctx, name) })

	done.rollout.Withdrawal = todo.Rollout.Withdrawal
	if len(todo.Rollout.Delete) > 0 {
		if err := r.recordWithdrawal(ctx, seen.addon, done.rollout.Record()); err != nil {
			todo.Rollout.Delete = nil // The next time, if the status at the end of this one has it on record.
			done.note(err)
		}
	}
	deletable := slices.DeleteFunc(slices.Clone(todo.Rollout.Delete), func(name string) bool {
		return slices.Contains(todo.Rollout.SyncSettings, name) && !slices.Contains(done.rollout.SyncSettings, name)
	})
	done.rollout.Delete = carryOut(&done, deletable, func(name string) error { return writer.delete(ctx, name) })

	done.note(r.prune(ctx, seen.addon.Namespace, todo.Prune))
	if todo.Release {
		err := r.release(ctx, seen)
		done.released = err == nil
		done.note(err)
	}
	return done
}

// lookAgain is after how long a reconcile follows, where again is when the report wants one; 0 is never. After deletions
// one follows in any case: an answer of success may come from something else than an API server, and then no event does.
func (a applied) lookAgain(again time.Duration) time.Duration {
	if len(a.rollout.Delete) == 0 || again > 0 && again < ownWriteLifetime {
		return again
	}
	return ownWriteLifetime + catchUp
}

// recordWithdrawal makes sure that what is about to be lost counts, whenever the manager dies.
func (r *Reconciler) recordWithdrawal(ctx context.Context, addon *addonsv1alpha1.SaaSAddon, record *metav1alpha1.WithdrawalRecord) error {
	if record == nil || equality.Semantic.DeepEqual(addon.Status.Withdrawals, *record) {
		return nil
	}
	status := addon.Status
	status.Withdrawals = *record
	return r.patchStatus(ctx, addon, status)
}

// note keeps an error, apart from those that only mean that the cache was behind.
func (a *applied) note(err error) {
	if errors.Is(err, errOutdated) || apierrors.IsConflict(err) {
		a.outdated = true
		return
	}
	a.err = errors.Join(a.err, err)
}

// carryOut writes several targets at a time and returns those that were written.
func carryOut[T any](done *applied, items []T, write func(T) error) []T {
	var written []T
	for i, err := range inParallel(items, write) {
		if err != nil {
			done.note(err)
			continue
		}
		written = append(written, items[i])
	}
	return written
}

// prepare makes sure that what comes next can be undone, and that what targets name exists.
func (r *Reconciler) prepare(ctx context.Context, addon *addonsv1alpha1.SaaSAddon, todo Plan) error {
	if todo.AddFinalizer {
		base := addon.DeepCopy()
		controllerutil.AddFinalizer(addon, metav1alpha1.FinalizerPolicy)
		if err := r.patchMetadata(ctx, addon, base); err != nil {
			return fmt.Errorf("add finalizer: %w", err)
		}
	}
	if todo.Store == nil {
		return nil
	}
	return revision.Write(ctx, r.Client, r.Live, owner(addon), todo.Store)
}

func (r *Reconciler) prune(ctx context.Context, namespace string, revisions []revision.Stored) error {
	var errs []error
	for _, old := range revisions {
		errs = append(errs, revision.Remove(ctx, r.Client, namespace, old))
	}
	return errors.Join(errs...)
}

// release removes the revisions and lets the add-on go, if the API server too knows of no target.
func (r *Reconciler) release(ctx context.Context, seen *observed) error {
	addon := seen.addon
	left := &metav1.PartialObjectMetadataList{}
	left.SetGroupVersionKind(addonsv1alpha1.GroupVersion.WithKind("AddonReleaseList"))
	err := r.Live.List(ctx, left, client.InNamespace(addon.Namespace), client.MatchingLabels{metav1alpha1.LabelPolicy: addon.Name}, client.Limit(1))
	if err != nil {
		return fmt.Errorf("look for targets: %w", err)
	}
	if len(left.Items) > 0 {
		return errOutdated
	}
	if err := r.prune(ctx, addon.Namespace, seen.stored); err != nil {
		return err
	}
	base := addon.DeepCopy()
	controllerutil.RemoveFinalizer(addon, metav1alpha1.FinalizerPolicy)
	if err := client.IgnoreNotFound(r.patchMetadata(ctx, addon, base)); err != nil {
		return fmt.Errorf("remove finalizer: %w", err)
	}
	return nil
}

// patchMetadata writes the finalizers, unless somebody else wrote the add-on meanwhile. The
// answer's resourceVersion goes into addon, its status stays as it was observed.
func (r *Reconciler) patchMetadata(ctx context.Context, addon, base *addonsv1alpha1.SaaSAddon) error {
	answer := addon.DeepCopy()
	if err := r.Client.Patch(ctx, answer, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})); err != nil {
		return err
	}
	addon.ResourceVersion = answer.ResourceVersion
	return nil
}

func owner(addon *addonsv1alpha1.SaaSAddon) revision.Owner {
	return revision.Owner{APIVersion: addonsv1alpha1.GroupVersion.String(), Kind: addonKind, Object: addon}
}
