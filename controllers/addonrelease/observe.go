package addonrelease

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/addonrelease/helm"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	helmrecord "github.com/daytwo-dev/daytwo/controllers/internal/helm"
	"github.com/daytwo-dev/daytwo/controllers/internal/suspension"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// observe reads everything once, after what the release has in its cluster is followed there. It returns the cluster to
// work with, nil if there is none. It passes over what goes wrong where nothing is done in the cluster any more.
func (r *Reconciler) observe(ctx context.Context, release *addonsv1alpha1.AddonRelease, known *remembered) (observation, *fleet.Cluster, error) {
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
		o.unreachable, cluster, err = cmp.Or(o.unreachable, err.Error()), nil, nil
	}
	return o, cluster, err
}

// observeRelease takes in the release, and what is remembered of it.
func (r *Reconciler) observeRelease(release *addonsv1alpha1.AddonRelease, known *remembered) (observation, error) {
	o := observation{release: release}
	o.status, o.restored = known.latestStatus(release)
	o.inputs = r.inputsOf(release, o.status)
	o.Now, o.Rules, o.RulesVersion = r.Clock.Now(), r.Rules, rulesVersion(r.Rules, release.Spec.Drift)
	o.suspension = suspension.Of(release.Spec.Suspend, release.Annotations, o.Now)
	o.Recall(known.set)
	o.helm.RecordPending = known.recordPending
	if o.helm.Tests = metav1alpha1.TestsRequested(release); o.helm.Tests == "" {
		o.helm.Tests = release.Spec.RunTests
	}
	var err error
	o.Inventory, err = apply.ReadInventory(o.status.Inventory)
	return o, err
}

// observeTenant finds the cluster, or why there is none to work with.
func (r *Reconciler) observeTenant(ctx context.Context, o *observation) (*fleet.Cluster, error) {
	key := clusterKey(o.release)
	tenant := &tenancyv1alpha1.TenantCluster{}
	if err := r.Client.Get(ctx, key, tenant); apierrors.IsNotFound(err) {
		o.unreachable = fmt.Sprintf("TenantCluster %s does not exist", key)
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("get TenantCluster %s: %w", key, err)
	}
	if o.Request = requestOf(o.release, tenant); o.requested() {
		o.Contentions = nil // A person who asks for a try need not wait for another correction.
	}
	o.suspension = o.suspension.Or(suspension.Of(tenant.Spec.Suspend, tenant.Annotations, o.Now)).Or(upgradeOf(tenant))
	o.going = clusterDeletionOf(tenant, o.release)
	cluster, connected := r.Fleet.Get(key)
	if !connected {
		o.findOut(tenant, attemptOf(r.Fleet.State(key)))
		return nil, nil
	}
	o.clusterID = cluster.ID
	if before := o.status.ClusterID; before != "" && before != string(cluster.ID) {
		o.moveFrom(before)
	}
	return cluster, nil
}

// observeCluster looks at what is in the cluster, and at what is to be there.
func (r *Reconciler) observeCluster(ctx context.Context, o *observation, cluster *fleet.Cluster, unserved apply.Kinds) error {
	o.Settings = settingsOf(o.release.Spec.Drift)
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

// upgradeOf holds work off while the cluster gets another version of Kubernetes.
func upgradeOf(tenant *tenancyv1alpha1.TenantCluster) suspension.Suspension {
	up := tenant.Status.Upgrade
	if up == nil {
		return suspension.Suspension{}
	}
	return suspension.During(fmt.Sprintf("the cluster is upgraded from %s to %s", up.From, up.To))
}

// requestOf tells one request of a person from another, wherever they made it.
func requestOf(release *addonsv1alpha1.AddonRelease, tenant *tenancyv1alpha1.TenantCluster) string {
	made := []string{release.Spec.RequestedAt, metav1alpha1.RequestedAt(release), metav1alpha1.RequestedAt(tenant)}
	if made = slices.DeleteFunc(made, func(one string) bool { return one == "" }); len(made) == 0 {
		return ""
	}
	return strings.Join(made, " ")
}
