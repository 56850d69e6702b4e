package tenantcluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/targets"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/clusterapi"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/heldsecret"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/topology"
)

// Indexes of the manager's cache.
const (
	// indexSecret finds TenantClusters by the Secrets they use, or used, as namespace/name.
	indexSecret = "tenantcluster.secret"
	// indexClusterID finds TenantClusters by status.clusterID.
	indexClusterID = "tenantcluster.clusterID"
	// indexWaiting finds TenantClusters that wait for another one to give a cluster up.
	indexWaiting = "tenantcluster.waiting"
	// indexOrdered finds TenantClusters with a Cluster on order.
	indexOrdered = "tenantcluster.ordered"
)

const yes = "yes"

func addIndexes(ctx context.Context, indexer client.FieldIndexer, orders topology.Options) error {
	for name, values := range map[string]func(*tenancyv1alpha1.TenantCluster) []string{
		indexSecret: func(cluster *tenancyv1alpha1.TenantCluster) []string {
			var keys []string
			for _, key := range usedSecrets(cluster, orders) {
				keys = append(keys, key.String())
			}
			return keys
		},
		indexClusterID: func(cluster *tenancyv1alpha1.TenantCluster) []string { return nonEmpty(cluster.Status.ClusterID) },
		indexOrdered: func(cluster *tenancyv1alpha1.TenantCluster) []string {
			if cluster.Spec.Topology != nil {
				return []string{yes}
			}
			return nil
		},
		indexWaiting: func(cluster *tenancyv1alpha1.TenantCluster) []string {
			if isWaiting(cluster) {
				return []string{yes}
			}
			return nil
		},
	} {
		err := indexer.IndexField(ctx, &tenancyv1alpha1.TenantCluster{}, name, func(object client.Object) []string {
			return values(object.(*tenancyv1alpha1.TenantCluster))
		})
		if err != nil {
			return fmt.Errorf("index TenantClusters: %w", err)
		}
	}
	return heldsecret.AddIndex(ctx, indexer)
}

func nonEmpty(value string) []string {
	if value == "" {
		return nil
	}
	return []string{value}
}

func isWaiting(cluster *tenancyv1alpha1.TenantCluster) bool {
	conflict := meta.FindStatusCondition(cluster.Status.Conditions, tenancyv1alpha1.ConditionIdentityConflict)
	return conflict != nil && conflict.Reason == tenancyv1alpha1.ReasonAlreadyRegistered
}

func namespaceMetadata() *metav1.PartialObjectMetadata {
	return objects.MetadataOf(corev1.SchemeGroupVersion.WithKind("Namespace"))
}

func secretMetadata() *metav1.PartialObjectMetadata {
	return objects.MetadataOf(corev1.SchemeGroupVersion.WithKind("Secret"))
}

// identityReleased passes the events after which another TenantCluster may hold a cluster, or may not
// hold it any longer.
func identityReleased() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		DeleteFunc:  func(event.DeleteEvent) bool { return true },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, after := e.ObjectOld.(*tenancyv1alpha1.TenantCluster), e.ObjectNew.(*tenancyv1alpha1.TenantCluster)
			return before.Status.ClusterID != after.Status.ClusterID
		},
	}
}

// toWaiting wakes those that wait for a cluster, and those that hold the same one.
func (r *reconciler) toWaiting(ctx context.Context, object client.Object) []reconcile.Request {
	requests := r.find(ctx, client.MatchingFields{indexWaiting: yes})
	if id := object.(*tenancyv1alpha1.TenantCluster).Status.ClusterID; id != "" {
		requests = append(requests, r.find(ctx, client.MatchingFields{indexClusterID: id})...)
	}
	return requests
}

func (r *reconciler) toUsersOfSecret(ctx context.Context, secret client.Object) []reconcile.Request {
	return r.find(ctx, client.MatchingFields{indexSecret: client.ObjectKeyFromObject(secret).String()})
}

// toUsersOfCluster is for Cluster API's Clusters.
func (r *reconciler) toUsersOfCluster(ctx context.Context, cluster client.Object) []reconcile.Request {
	key := types.NamespacedName{Namespace: cluster.GetNamespace(), Name: cluster.GetName() + clusterapi.SecretSuffix}
	return r.find(ctx, client.MatchingFields{indexSecret: key.String()})
}

// toOrdersOfNamespace is for a namespace with TenantClusters, and for the one that the Clusters are in which these order.
func (r *reconciler) toOrdersOfNamespace(ctx context.Context, namespace client.Object) []reconcile.Request {
	requests := r.find(ctx, client.InNamespace(namespace.GetName()), client.MatchingFields{indexOrdered: yes})
	if customer, found := r.options.Orders.CustomerOf(namespace.GetName()); found {
		requests = append(requests, r.find(ctx, client.InNamespace(customer), client.MatchingFields{indexOrdered: yes})...)
	}
	return requests
}

// toUsersOfClusterAPI is for the definition of Cluster API's Clusters, which seldom changes.
func (r *reconciler) toUsersOfClusterAPI(ctx context.Context, definition client.Object) []reconcile.Request {
	if definition.GetName() != clusterapi.Definition {
		return nil
	}
	return r.find(ctx)
}

// becameReady are the events of targets that are Ready and were not, or have a newer backup.
func becameReady() targets.Events {
	return targets.Events{Updated: func(before, after targets.Member) bool {
		return after.Ready && !before.Ready || hasNewerBackup(before, after)
	}}
}

func hasNewerBackup(before, after targets.Member) bool {
	was, is := before.Backup, after.Backup
	return was != nil && is != nil && (is.DataOf.After(was.DataOf) || is.Answered != was.Answered || is.Problem != was.Problem)
}

// toClusterThatWaitsForTarget wakes a TenantCluster whose upgrade or deletion may wait for a target.
func (r *reconciler) toClusterThatWaitsForTarget(ctx context.Context, key types.NamespacedName) []reconcile.Request {
	cluster := &tenancyv1alpha1.TenantCluster{}
	if err := r.client.Get(ctx, key, cluster); err != nil {
		return nil // It is gone, or its own events bring it up.
	}
	if cluster.Status.Deletion != nil || meta.IsStatusConditionFalse(cluster.Status.Conditions, tenancyv1alpha1.ConditionUpgraded) {
		return toCluster(ctx, key)
	}
	return nil
}

func toCluster(_ context.Context, key types.NamespacedName) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: key}}
}

func (r *reconciler) find(ctx context.Context, options ...client.ListOption) []reconcile.Request {
	found := &tenancyv1alpha1.TenantClusterList{}
	if err := r.client.List(ctx, found, append(options, client.UnsafeDisableDeepCopy)...); err != nil {
		logf.FromContext(ctx).Error(err, "TenantClusters to wake cannot be listed")
		return nil
	}
	requests := make([]reconcile.Request, 0, len(found.Items))
	for i := range found.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&found.Items[i])})
	}
	return requests
}
