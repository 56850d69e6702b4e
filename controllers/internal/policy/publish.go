package policy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daytwo-dev/daytwo/controllers/internal/graceful"
	"github.com/daytwo-dev/daytwo/controllers/internal/parallel"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/news"
	"github.com/daytwo-dev/daytwo/controllers/internal/throttle"
)

// published is what is remembered of a policy's statuses. One worker at a time touches it.
type published[P Policy] struct {
	writes throttle.Writes
	// unsaved is the report that was put off; nil if none is.
	unsaved *report[P]
}

func (p *published[P]) isUnsaved() bool { return p.unsaved != nil }

// publish writes the status if it changed, once, and tells what is new. A status that only mirrors the targets may be put
// off: then it returns after how long it is due. The next reconcile reports anew.
func (r *Reconciler[P, T]) publish(ctx context.Context, policy P, reported report[P], now time.Time) (later time.Duration, err error) {
	known := r.published.Of(client.ObjectKeyFromObject(policy))
	known.unsaved = nil
	reported.status.SetResourceVersion(policy.GetResourceVersion())
	if equality.Semantic.DeepEqual(statusOnly(r.Kind, policy), reported.status) {
		return 0, nil
	}
	change := r.changeOf(policy, reported)
	if due := known.writes.Due(change, r.interval, now); due.After(now) && !reported.failed && !graceful.IsEnding(ctx) {
		known.unsaved = &reported
		return due.Sub(now), nil
	}
	if err := r.patchStatus(ctx, policy, reported.status); err != nil {
		return 0, err
	}
	r.emit(ctx, policy, slices.DeleteFunc(reported.events, func(one news.Record) bool {
		return one.Condition != "" && !known.writes.IsFirst(change, one.Condition)
	}))
	known.writes.Wrote(change, now)
	return 0, nil
}

// changeOf is what a report changes in a policy's status. Counts of targets, and what a kind sums up of them, only mirror.
func (r *Reconciler[P, T]) changeOf(policy P, reported report[P]) throttle.Change {
	rest, after := statusOnly(r.Kind, policy), reported.status.GetPolicyStatus()
	before := rest.GetPolicyStatus().Conditions
	if reported.sum != nil {
		reported.sum(rest)
	}
	status := rest.GetPolicyStatus()
	status.Conditions, status.Clusters = after.Conditions, after.Clusters
	return throttle.Change{
		Subject: fmt.Sprint(policy.GetUID(), policy.GetGeneration(), after.Revision),
		Mirrors: policy.GetDeletionTimestamp().IsZero() && equality.Semantic.DeepEqual(rest, reported.status),
		Before:  before, After: after.Conditions,
	}
}

// WriteUnsaved writes the statuses that were put off. No reconcile may be under way, and none may follow.
func (r *Reconciler[P, T]) WriteUnsaved(ctx context.Context) error {
	keys := r.published.Where((*published[P]).isUnsaved)
	return errors.Join(parallel.Map(len(keys), parallelWrites, func(i int) error { return r.writeUnsaved(ctx, keys[i]) })...)
}

func (r *Reconciler[P, T]) writeUnsaved(ctx context.Context, key types.NamespacedName) error {
	policy := r.Kind.NewPolicy()
	if err := r.Client.Get(ctx, key, policy); err != nil {
		return client.IgnoreNotFound(err)
	}
	policy = r.written.Of(key).Of(policy)
	unsaved := r.published.Of(key).unsaved
	if policy.GetResourceVersion() != unsaved.status.GetResourceVersion() {
		return nil // Somebody changed the policy, which the next manager reports on.
	}
	return r.patchStatus(ctx, policy, unsaved.status)
}
