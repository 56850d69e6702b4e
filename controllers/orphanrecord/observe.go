package orphanrecord

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/orphans"
	"github.com/daytwo-dev/daytwo/controllers/internal/suspension"
	"github.com/daytwo-dev/daytwo/controllers/internal/targets"
)

// observation is all that a plan is made from.
type observation struct {
	namespace string
	now       time.Time
	// records of the namespace, the oldest first. They are the cache's own: nothing of them is changed.
	records []tenancyv1alpha1.OrphanRecord
	// sites are the connected clusters of the namespace that records are about.
	sites []site
	// awaited are records, by name, whose policy selects the cluster again and has yet to come there.
	awaited map[string]bool
	// tries are those that came before.
	tries tries
}

// site is a cluster that is connected and admitted, and what is to be known before anything is swept there.
type site struct {
	tenant *tenancyv1alpha1.TenantCluster
	id     string
	hold   hold
}

func (s site) key() types.NamespacedName { return client.ObjectKeyFromObject(s.tenant) }

// hold is why nothing is swept in a cluster now; the zero hold is no reason.
type hold struct {
	why string
	// until is when it ends by itself; zero if something else will tell.
	until time.Time
}

func (r *Reconciler) observe(ctx context.Context, namespace string) (observation, error) {
	o := observation{namespace: namespace, now: r.Clock.Now(), awaited: map[string]bool{}}
	records := &tenancyv1alpha1.OrphanRecordList{}
	if err := r.Client.List(ctx, records, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return o, fmt.Errorf("list OrphanRecords: %w", err)
	}
	o.records = slices.SortedFunc(slices.Values(records.Items), orphans.ByAge)
	r.Metrics.set(namespace, len(o.records))
	o.tries = r.memory.of(namespace, o.records)
	left := map[string]bool{}
	for i := range o.records {
		if id := o.records[i].Spec.ClusterID; id != "" {
			left[id] = true
		}
	}
	if len(left) == 0 {
		return o, nil
	}
	clusters := &tenancyv1alpha1.TenantClusterList{}
	if err := r.Client.List(ctx, clusters, client.InNamespace(namespace)); err != nil {
		return o, fmt.Errorf("list TenantClusters: %w", err)
	}
	for i := range clusters.Items {
		tenant := &clusters.Items[i]
		cluster, connected := r.Fleet.Get(client.ObjectKeyFromObject(tenant))
		if !connected || !left[string(cluster.ID)] {
			continue
		}
		found := site{tenant: tenant, id: string(cluster.ID), hold: holdOf(tenant, string(cluster.ID), r.HeadStart, o.now)}
		if err := r.observeTargets(ctx, &o, &found); err != nil {
			return o, err
		}
		o.sites = append(o.sites, found)
	}
	return o, nil
}

// observeTargets finds out for what targets a sweep has to wait.
func (r *Reconciler) observeTargets(ctx context.Context, o *observation, at *site) error {
	if at.hold.why != "" {
		return nil
	}
	members, err := r.Targets.In(ctx, r.Client, at.key())
	if err != nil {
		return err
	}
	if at.hold = unapplied(members); at.hold.why != "" {
		return nil
	}
	for i := range o.records {
		record := &o.records[i]
		if record.Spec.ClusterID != at.id {
			continue
		}
		if o.awaited[record.Name], err = r.awaitsReplacement(ctx, record.Spec, at.tenant, members); err != nil {
			return err
		}
	}
	return nil
}

// holdOf says why nothing is to be swept in a cluster with that identity.
func holdOf(tenant *tenancyv1alpha1.TenantCluster, id string, headStart time.Duration, now time.Time) hold {
	handsOff := suspension.OfCluster(tenant, now)
	ready := meta.FindStatusCondition(tenant.Status.Conditions, metav1alpha1.ConditionReady)
	switch {
	case tenant.Status.ClusterID != id:
		return hold{why: "its identity is not on record"}
	case tenant.DeletionTimestamp != nil:
		return hold{why: "it is being deleted"}
	case handsOff.Active:
		return hold{why: "it is " + handsOff.String(), until: handsOff.Until}
	case tenant.Status.Upgrade != nil:
		return hold{why: "it is being upgraded"}
	case ready == nil || ready.Status != metav1.ConditionTrue:
		return hold{why: "it is not Ready"}
	}
	if at := ready.LastTransitionTime.Add(headStart); at.After(now) {
		return hold{why: "it was not Ready until a moment ago", until: at}
	}
	return hold{}
}

// unapplied holds a sweep off until every target in the cluster has found what is there, and what is its own.
func unapplied(members []targets.Member) hold {
	for _, member := range members {
		if member.RemovedSince.IsZero() && !member.Applied {
			return hold{why: member.String() + " is not applied"}
		}
	}
	return hold{}
}
