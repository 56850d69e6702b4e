package policy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/parallel"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/expectations"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/revision"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

// errOutdated: the cache was behind, another client wrote first. Nothing is wrong.
var errOutdated = errors.New("written by another client meanwhile")

// result is what became of a plan.
type result struct {
	// rollout is the part of it that was carried out.
	rollout rollout.Plan
	// outdated: some of it has to be planned again, on newer objects.
	outdated bool
	// removed: the finalizer is gone, and with it the policy.
	removed bool
	err     error
}

// apply carries the plan out. One failed target does not keep the others.
func (r *Reconciler[P, T]) apply(ctx context.Context, o *observation[P, T], p plan[P]) result {
	done := result{}
	if err := r.recordPhase(ctx, o.policy, p); err != nil {
		p.rollout.Create, p.rollout.Update, p.rollout.Delete = nil, nil, nil
		done.note(err)
	}
	if err := r.prepare(ctx, o.policy, p); err != nil {
		p.rollout.Create, p.rollout.Update = nil, nil
		done.note(err)
	} else {
		r.startTrial(o)
	}
	writer, key := r.newTargetWriter(o.policy, p.settings), client.ObjectKeyFromObject(o.policy)
	done.rollout.Create = carryOut(&done, p.rollout.Create, func(cluster rollout.Cluster) error {
		return r.noteWrite(key, cluster.ClusterKey, writer.create(ctx, cluster))
	})
	done.rollout.Update = carryOut(&done, p.rollout.Update, func(update rollout.TargetUpdate) error {
		return r.noteWrite(key, update.Cluster.ClusterKey, writer.update(ctx, update))
	})
	done.rollout.SyncSettings = carryOut(&done, p.rollout.SyncSettings, func(name string) error { return writer.syncSettings(ctx, name) })

	done.rollout.Withdrawal = p.rollout.Withdrawal
	if len(p.rollout.Delete) > 0 {
		if err := r.recordWithdrawal(ctx, o.policy, done.rollout.Record()); err != nil {
			p.rollout.Delete = nil // The next time, if the status at the end of this one has it on record.
			done.note(err)
		}
	}
	notSynced := sets.New(p.rollout.SyncSettings...).Delete(done.rollout.SyncSettings...)
	deletable := slices.DeleteFunc(slices.Clone(p.rollout.Delete), notSynced.Has)
	done.rollout.Delete = carryOut(&done, deletable, func(name string) error { return writer.delete(ctx, name) })

	done.note(r.prune(ctx, o.policy.GetNamespace(), p.prune))
	if p.removeFinalizer {
		err := r.release(ctx, o)
		done.removed = err == nil
		done.note(err)
	}
	return done
}

// requeueAfter is after how long a reconcile follows, where again is when the report wants one; 0 is never. After deletions
// one follows in any case: an answer of success may come from something else than an API server, and then no event does.
func (a result) requeueAfter(again time.Duration) time.Duration {
	if len(a.rollout.Delete) == 0 || again > 0 && again < expectations.Lifetime {
		return again
	}
	return expectations.Lifetime + catchUp
}

// recordPhase stores the record of the phase that the plan was made in, if targets are about to change.
func (r *Reconciler[P, T]) recordPhase(ctx context.Context, policy P, p plan[P]) error {
	if p.setPhase == nil || len(p.rollout.Create)+len(p.rollout.Update)+len(p.rollout.Delete) == 0 {
		return nil
	}
	return r.record(ctx, policy, p.setPhase)
}

// recordWithdrawal makes sure that what is about to be lost counts, whenever the manager dies.
func (r *Reconciler[P, T]) recordWithdrawal(ctx context.Context, policy P, record *metav1alpha1.WithdrawalRecord) error {
	if record == nil {
		return nil
	}
	return r.record(ctx, policy, func(policy P) { policy.GetPolicyStatus().Withdrawals = *record })
}

// noteWrite remembers how a write of a cluster's target ended, and returns its error. That the cache was behind is no failure.
func (r *Reconciler[P, T]) noteWrite(policy types.NamespacedName, cluster rollout.ClusterKey, err error) error {
	if !isBehind(err) {
		r.unwritten.Note(policy, cluster, err)
	}
	return err
}

// isBehind is whether an error only means that the cache was behind.
func isBehind(err error) bool { return errors.Is(err, errOutdated) || apierrors.IsConflict(err) }

// note keeps an error, apart from those that only mean that the cache was behind.
func (a *result) note(err error) {
	if isBehind(err) {
		a.outdated = true
		return
	}
	a.err = errors.Join(a.err, err)
}

// carryOut writes several targets at a time and returns those that were written.
func carryOut[T any](done *result, items []T, write func(T) error) []T {
	var written []T
	errs := parallel.Map(len(items), parallelWrites, func(i int) error { return write(items[i]) })
	for i, err := range errs {
		if err != nil {
			done.note(err)
			continue
		}
		written = append(written, items[i])
	}
	return written
}

// prepare makes sure that what comes next can be undone, and that what targets name exists.
func (r *Reconciler[P, T]) prepare(ctx context.Context, policy P, p plan[P]) error {
	if p.addFinalizer {
		base := policy.DeepCopyObject().(P)
		controllerutil.AddFinalizer(policy, metav1alpha1.FinalizerPolicy)
		if err := r.patchMetadata(ctx, policy, base); err != nil {
			return fmt.Errorf("add finalizer: %w", err)
		}
	}
	if p.store == nil {
		return nil
	}
	owner, err := r.owner(policy)
	if err != nil {
		return err
	}
	r.views.noteRevisions(client.ObjectKeyFromObject(policy))
	return revision.Write(ctx, r.Client, r.APIReader, owner, p.store)
}

func (r *Reconciler[P, T]) prune(ctx context.Context, namespace string, revisions []revision.Stored) error {
	var errs []error
	for _, old := range revisions {
		errs = append(errs, revision.Remove(ctx, r.Client, namespace, old))
	}
	return errors.Join(errs...)
}

// release removes the revisions and removes the policy's finalizer, if the API server too knows of no target.
func (r *Reconciler[P, T]) release(ctx context.Context, o *observation[P, T]) error {
	policy := o.policy
	kind, err := r.Client.GroupVersionKindFor(r.Kind.NewTarget())
	if err != nil {
		return err
	}
	left := &metav1.PartialObjectMetadataList{}
	left.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	err = r.APIReader.List(ctx, left, client.InNamespace(policy.GetNamespace()), policyLabel(policy), client.Limit(1))
	if err != nil {
		return fmt.Errorf("look for targets: %w", err)
	}
	if len(left.Items) > 0 {
		return errOutdated
	}
	if err := r.prune(ctx, policy.GetNamespace(), o.view.stored); err != nil {
		return err
	}
	if kind, releases := r.Kind.(ReleasingKind[P]); releases {
		if err := kind.Release(ctx, policy); err != nil {
			return err
		}
	}
	base := policy.DeepCopyObject().(P)
	controllerutil.RemoveFinalizer(policy, metav1alpha1.FinalizerPolicy)
	if err := client.IgnoreNotFound(r.patchMetadata(ctx, policy, base)); err != nil {
		return fmt.Errorf("remove finalizer: %w", err)
	}
	return nil
}

// patchMetadata writes the finalizers, unless another client wrote the policy meanwhile. The
// answer's resourceVersion goes into policy, its status stays as it was observed.
func (r *Reconciler[P, T]) patchMetadata(ctx context.Context, policy, base P) error {
	answer := policy.DeepCopyObject().(P)
	if err := r.Client.Patch(ctx, answer, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})); err != nil {
		return err
	}
	r.written.Of(client.ObjectKeyFromObject(policy)).Wrote(answer)
	policy.SetResourceVersion(answer.GetResourceVersion())
	return nil
}

// owner is the policy as the owner of its revisions.
func (r *Reconciler[P, T]) owner(policy P) (revision.Owner, error) {
	kind, err := r.Client.GroupVersionKindFor(policy)
	return revision.Owner{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind, Object: policy}, err
}
