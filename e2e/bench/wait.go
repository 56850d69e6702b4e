package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

const (
	// patience with anything that is awaited; whatever takes longer will not happen.
	patience = 3 * time.Minute
	// calm is how long the manager must have done nothing to count as done.
	calm = time.Second
)

// watchTargets watches the targets of an add-on, from before there are any.
func (b *bench) watchTargets(ctx context.Context, addon string) (watch.Interface, error) {
	return b.env.Admin.Watch(ctx, &addonsv1alpha1.AddonReleaseList{},
		client.InNamespace(fleetNamespace), client.MatchingLabels{metav1alpha1.LabelPolicy: addon})
}

// arrival tells whether a target has done all that is measured.
type arrival = func(*addonsv1alpha1.AddonRelease) bool

// errWatchEnded is that the API server ended a watch, as it does with one that nobody reads from for a while.
var errWatchEnded = errors.New("the watch of the targets ended")

// awaitTargets returns when so many targets have arrived. It fails with errWatchEnded if the watch ends before.
func awaitTargets[T client.Object](ctx context.Context, watching watch.Interface, count int, arrived func(T) bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	there := map[string]bool{}
	for {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d of %d targets have arrived: %w", len(there), count, ctx.Err())
		case event, open := <-watching.ResultChan():
			target, ok := event.Object.(T)
			if !open || !ok {
				return fmt.Errorf("%w: %v", errWatchEnded, event.Object)
			}
			delete(there, target.GetName())
			if arrived(target) {
				there[target.GetName()] = true
			}
			if len(there) == count {
				return nil
			}
		}
	}
}

// isReady: the target is Ready at the revision that it names.
func isReady(target *addonsv1alpha1.AddonRelease) bool {
	return isTrue(target, metav1alpha1.ConditionReady)
}

// isInstalled: the objects of the chart are applied and the release is on record. Where nothing runs pods,
// its Deployment never gets ready.
func isInstalled(target *addonsv1alpha1.AddonRelease) bool {
	return isTrue(target, metav1alpha1.ConditionApplied) && target.Status.Helm != nil && target.Status.Helm.Version > 0
}

// install creates an add-on and returns when it is Ready in all of its clusters.
func (b *bench) install(ctx context.Context, addon *addonsv1alpha1.SaaSAddon) error {
	if err := b.env.Admin.Create(ctx, addon); err != nil {
		return fmt.Errorf("create add-on %s: %w", addon.Name, err)
	}
	return b.awaitReady(ctx, addon.Name)
}

// awaitReady returns when an add-on is Ready in all of its clusters as it was declared last.
func (b *bench) awaitReady(ctx context.Context, name string) error {
	return poll(ctx, "add-on "+name+" is Ready", func(ctx context.Context) (bool, error) {
		addon := &addonsv1alpha1.SaaSAddon{}
		err := b.env.Admin.Get(ctx, namespaced(fleetNamespace, name), addon)
		ready := meta.FindStatusCondition(addon.Status.Conditions, metav1alpha1.ConditionReady)
		return ready != nil && ready.Status == metav1.ConditionTrue && ready.ObservedGeneration == addon.Generation, err
	})
}

func isTrue(target *addonsv1alpha1.AddonRelease, kind string) bool {
	condition := meta.FindStatusCondition(target.Status.Conditions, kind)
	return condition != nil && condition.Status == "True" && condition.ObservedGeneration == target.Generation &&
		target.Status.Revision == target.Spec.Revision
}

// quiet returns when the manager has reconciled nothing and asked no cluster for anything for a while. Probes
// do not count: an idle fleet is probed too, and a dead cluster is tried again and again.
func (b *bench) quiet(ctx context.Context) error {
	var last float64
	var since time.Time
	return b.until(ctx, 200*time.Millisecond, func(now metrics) bool {
		if activity := now.total("controller_runtime_reconcile_total", nil) + now.total(requestsMetric, isGet); activity != last || since.IsZero() {
			last, since = activity, time.Now()
		}
		return time.Since(since) > calm && now.total("workqueue_depth", nil) == 0
	})
}

// until returns when the manager's metrics satisfy a condition.
func (b *bench) until(ctx context.Context, every time.Duration, satisfied func(metrics) bool) error {
	return wait.PollUntilContextTimeout(ctx, every, patience, true, func(ctx context.Context) (bool, error) {
		now, err := b.env.Manager.Metrics(ctx)
		// While the manager starts, nobody answers yet.
		return err == nil && satisfied(now), nil
	})
}

// pause waits, unless the context ends first.
func pause(ctx context.Context, duration time.Duration) error {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
