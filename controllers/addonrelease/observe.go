package addonrelease

import (
	"cmp"
	"context"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/addonrelease/helm"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	helmrecord "github.com/daytwo-dev/daytwo/controllers/internal/helm"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// observe reads everything once, after what the release has in its cluster is followed there. It returns the cluster to
// work with, nil if there is none. It passes over what goes wrong where nothing is done in the cluster any more.
func (r *Reconciler) observe(ctx context.Context, release *addonsv1alpha1.AddonRelease, known *known) (observation, *fleet.Cluster, error) {
	o, err := r.observeRelease(release, known)
	var cluster *fleet.Cluster
	if err == nil {
		cluster, err = r.observeTenant(ctx, &o)
	}
	var unserved apply.Kinds
	if err == nil && cluster != nil {
		unserved, err = r.follow(ctx, o, cluster)
	}
	if err == nil && cluster != nil {
		err = r.observeCluster(ctx, &o, cluster, unserved)
	}
	if err != nil && o.isAbandonable() {
		o.Unreachable, cluster, err = cmp.Or(o.Unreachable, err.Error()), nil, nil
	}
	return o, cluster, err
}

// observeRelease takes in the release, and what is remembered of it.
func (r *Reconciler) observeRelease(release *addonsv1alpha1.AddonRelease, known *known) (observation, error) {
	o := observation{release: release}
	var restored bool
	o.status, restored = latestStatus(release, known)
	var err error
	o.Observation, err = target.NewObservation(release, &release.Spec.Drift, statusOf(&o.status), known.Objects, r.Rules, r.Clock.Now())
	o.Restored, o.Inputs = restored, r.inputsOf(release, o.status)
	o.helm.RecordPending = known.Kind.recordPending
	if o.helm.Tests = metav1alpha1.TestsRequested(release); o.helm.Tests == "" {
		o.helm.Tests = release.Spec.RunTests
	}
	return o, err
}

// observeTenant finds the cluster, or why there is none to work with.
func (r *Reconciler) observeTenant(ctx context.Context, o *observation) (*fleet.Cluster, error) {
	cluster, err := r.room.Observe(ctx, &o.Preconditions)
	if err != nil {
		return nil, err
	}
	o.TakeRequest(statusOf(&o.status))
	if before := o.status.ClusterID; cluster != nil && before != "" && before != string(cluster.ID) {
		o.moveFrom(before)
	}
	return cluster, nil
}

// observeCluster looks at what is in the cluster, and at what is to be there.
func (r *Reconciler) observeCluster(ctx context.Context, o *observation, cluster *fleet.Cluster, unserved apply.Kinds) error {
	o.Settings = o.DriftSettings()
	if err := o.ObserveObjects(ctx, cluster, unserved); err != nil {
		return err
	}
	if key, ok := helm.RecordKey(o.status.Helm); ok && !o.Awaits(helm.SecretKind.GroupKind(), cluster.Tracker.Kind(helm.SecretKind.GroupKind())) {
		o.helm.RecordSeen, o.helm.RecordDrifted = cluster.Tracker.Look(key)
	}
	if o.needsDesired() {
		o.problem = r.observeDesired(ctx, o, cluster)
	}
	if o.problem != nil && !o.release.DeletionTimestamp.IsZero() && (!mayPass(o.problem) || skipsDeleteHooks(o.release)) {
		o.helm.Unrendered, o.problem = o.problem, o.observeUnrendered(ctx, cluster)
	}
	return nil
}

// observeUnrendered finds out what is needed to end a release whose chart cannot be rendered any more:
// the inventory knows its objects, the cluster its records. Only its hooks are unknown.
func (o *observation) observeUnrendered(ctx context.Context, cluster helm.HistoryLister) error {
	known := o.status.Helm
	o.helm.Chart = &helm.Chart{Release: helmrecord.Release{Namespace: known.Namespace, Name: known.Name}, Title: known.Chart}
	var err error
	o.helm.History, err = helm.ReadHistory(ctx, o.forHelm(), o.helm.Chart.Release, cluster)
	return err
}
