package policy

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daytwo-dev/daytwo/controllers/internal/graceful"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/news"
	"github.com/daytwo-dev/daytwo/controllers/internal/throttle"
)

// publish writes the status if it changed, once, and tells what is new. A status that only mirrors the targets may be put
// off: then it returns after how long it is due. The next reconcile reports anew.
func (r *Reconciler[P, T]) publish(ctx context.Context, policy P, reported report[P], now time.Time) (later time.Duration, err error) {
	known := r.published.Of(client.ObjectKeyFromObject(policy))
	known.Begin()
	reported.status.SetResourceVersion(policy.GetResourceVersion())
	if equality.Semantic.DeepEqual(statusOnly(r.Kind, policy), reported.status) {
		return 0, nil
	}
	change := r.changeOf(policy, reported)
	if !reported.failed && !graceful.IsEnding(ctx) {
		if later := known.PutOff(reported.status, change, now); later > 0 {
			return later, nil
		}
	}
	if err := r.patchStatus(ctx, policy, reported.status); err != nil {
		return 0, err
	}
	r.emit(ctx, policy, slices.DeleteFunc(reported.events, func(one news.Record) bool {
		return one.Condition != "" && !known.IsFirst(change, one.Condition)
	}))
	known.Wrote(change, r.pause, now)
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
	return r.published.WriteUnsaved(ctx, r.writeUnsaved)
}

func (r *Reconciler[P, T]) writeUnsaved(ctx context.Context, key types.NamespacedName, status P) error {
	policy := r.Kind.NewPolicy()
	if err := r.Client.Get(ctx, key, policy); err != nil {
		return client.IgnoreNotFound(err)
	}
	policy = r.written.Of(key).Of(policy)
	if policy.GetResourceVersion() != status.GetResourceVersion() {
		return nil // Somebody changed the policy, which the next manager reports on.
	}
	return r.patchStatus(ctx, policy, status)
}
