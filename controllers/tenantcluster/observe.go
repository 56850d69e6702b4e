package tenantcluster

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/orphans"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/clusternamespace"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/heldsecret"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/maintenancewindow"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/topology"
)

// observation is everything that the other steps know. What comes from the cache must not be changed.
type observation struct {
	key types.NamespacedName
	// cluster is nil if it is gone.
	cluster *tenancyv1alpha1.TenantCluster
	now     time.Time
	// expiryWarning is how long before credentials expire people are told.
	expiryWarning time.Duration

	// orders is what the provider decides for all orders.
	orders topology.Options
	// home is how the namespace of the Cluster on order stands.
	home home
	// made is what Cluster API has of the cluster.
	made clusterAPICluster
	// maintenance is when what disturbs the cluster may be done.
	maintenance maintenancewindow.State
	// unready are targets that are not Ready, and backup the newest one; read only while an upgrade waits.
	unready []string
	backup  topology.Backup

	credentials credentials
	// handout is how the customer's copy of the kubeconfig stands.
	handout handout
	// namespace is how the one for the Clusters of this namespace stands.
	namespace clusternamespace.State
	// renewal is how Daytwo's own credentials stand, where they take the place of the kubeconfig's.
	renewal renewal
	// link is how the connection by way of these credentials stands; nil if there is none yet.
	link *fleet.State
	// requested: a person asked for a try (daytwo.dev/requested-at), and there was none since.
	requested bool
	// forbidden is the identity of the management cluster, where it must not be registered.
	forbidden types.UID
	// duplicates are other TenantClusters on record with the identity of the connected cluster.
	duplicates []tenancyv1alpha1.TenantCluster
	// blockers are what keeps the cluster; read only while it is deleted.
	blockers blockers
	// orphans are the OrphanRecords of the cluster, the oldest first.
	orphans []tenancyv1alpha1.OrphanRecord
	// held are the Secrets of the namespace that have our finalizer.
	held []heldsecret.Secret
}

func (o observation) deleting() bool { return !o.cluster.DeletionTimestamp.IsZero() }

// observe reads everything once.
func (r *reconciler) observe(ctx context.Context, key types.NamespacedName) (*observation, error) {
	o := &observation{key: key, now: r.clock.Now(), expiryWarning: r.options.CredentialsExpiryWarning, orders: r.options.Orders}
	cluster := &tenancyv1alpha1.TenantCluster{}
	err := r.client.Get(ctx, key, cluster)
	if client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	if err == nil {
		o.cluster = cluster
	}
	if o.namespace, err = clusternamespace.Look(ctx, r.client, key.Namespace, o.orders); err != nil {
		return nil, err
	}
	if o.cluster != nil {
		if cluster.Spec.Topology != nil {
			o.home = homeOf(o.namespace, o.orders.ClusterNamespace(key.Namespace))
		}
		if o.made, err = r.observeClusterAPI(ctx, cluster, o.home); err != nil {
			return nil, err
		}
	}
	if err := r.observeHeldSecrets(ctx, o); err != nil {
		return nil, err
	}
	if o.cluster == nil {
		return o, nil
	}
	if o.credentials, err = r.findCredentials(ctx, *o); err != nil {
		return nil, err
	}
	if err := r.observeHandout(ctx, o); err != nil {
		return nil, err
	}
	if err := r.observeRenewal(ctx, o); err != nil {
		return nil, err
	}
	if err := r.observeBlockers(ctx, o); err != nil {
		return nil, err
	}
	if o.orphans, err = orphans.OfCluster(ctx, r.client, cluster); err != nil {
		return nil, err
	}
	if err := r.observeMaintenance(ctx, o); err != nil {
		return nil, err
	}
	return o, r.observeConnection(ctx, o)
}

func (r *reconciler) observeConnection(ctx context.Context, o *observation) error {
	state, ok := r.connections.State(o.key)
	if !ok || !o.renewal.swap && !r.memory.Of(o.key).isLinked(o.credentials.access) {
		return nil
	}
	o.link = &state
	o.requested = !r.memory.Of(o.key).isHandled(requestIn(o.cluster))
	if state.Identity == "" {
		return nil
	}
	var err error
	if o.key.Namespace != r.options.ProviderNamespace {
		if o.forbidden, err = r.management.Of(ctx); err != nil {
			return err
		}
	}
	o.duplicates, err = r.listRivals(ctx, o.key, state.Identity)
	return err
}

// requestIn tells one request of a person for a try from another; empty for none.
func requestIn(cluster *tenancyv1alpha1.TenantCluster) string {
	return cluster.Annotations[metav1alpha1.AnnotationRequestedAt]
}

func (r *reconciler) listRivals(ctx context.Context, key types.NamespacedName, identity types.UID) ([]tenancyv1alpha1.TenantCluster, error) {
	list := &tenancyv1alpha1.TenantClusterList{}
	if err := r.client.List(ctx, list, client.MatchingFields{indexClusterID: string(identity)}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list TenantClusters by identity: %w", err)
	}
	// A copy: the list's items belong to the cache.
	return slices.DeleteFunc(slices.Clone(list.Items), func(other tenancyv1alpha1.TenantCluster) bool {
		return client.ObjectKeyFromObject(&other) == key
	}), nil
}

// observeHeldSecrets finds out who needs the Secrets that are held in the namespace, and in that of its Clusters. Looking at all
// of them, and not at what this TenantCluster used before, leaves none behind after a crash.
func (r *reconciler) observeHeldSecrets(ctx context.Context, o *observation) error {
	secrets, err := heldsecret.List(ctx, r.client, o.key.Namespace)
	if err != nil {
		return err
	}
	// A namespace of that name which is not this customer's holds Secrets of others.
	if o.namespace == clusternamespace.Ready || o.namespace == clusternamespace.Terminating {
		ordered, err := heldsecret.List(ctx, r.client, o.orders.ClusterNamespace(o.key.Namespace))
		if err != nil {
			return err
		}
		secrets = append(secrets, ordered...)
	}
	if len(secrets) == 0 {
		return nil
	}
	clusters := &tenancyv1alpha1.TenantClusterList{}
	if err := r.client.List(ctx, clusters, client.InNamespace(o.key.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list TenantClusters: %w", err)
	}
	elsewhere := sets.New[types.NamespacedName]()
	for i := range clusters.Items {
		if clusters.Items[i].Name != o.key.Name {
			elsewhere.Insert(secretsOf(&clusters.Items[i], o.orders)...)
		}
	}
	for _, secret := range secrets {
		key := client.ObjectKeyFromObject(&secret)
		o.held = append(o.held, heldsecret.Secret{
			Metadata:      secret,
			UsedHere:      o.cluster != nil && slices.Contains(secretsOf(o.cluster, o.orders), key) && !o.outlived(secret),
			UsedElsewhere: elsewhere.Has(key),
		})
	}
	return nil
}

// outlived: the Secret goes with the Cluster that it belongs to, and another Cluster of that name needs another.
func (o observation) outlived(secret metav1.PartialObjectMetadata) bool {
	return o.cluster.Spec.Topology != nil && secret.DeletionTimestamp != nil && (o.made.live == nil || !o.made.live.DeletionTimestamp.IsZero())
}
