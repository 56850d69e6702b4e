package clusternamespace

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/optionalkind"
	"github.com/daytwo-dev/daytwo/controllers/internal/secretaccess"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/clusternamespace/secretsrole"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/topology"
)

// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=secrets;configmaps;resourcequotas;limitranges,verbs=list
// +kubebuilder:rbac:groups=networking.k8s.io,resources=networkpolicies,verbs=list
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=rolebindings,verbs=list
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters,verbs=list;watch
// +kubebuilder:rbac:groups=tenancy.daytwo.dev,resources=tenantclusters,verbs=get;list;watch

// reconciler keeps the namespaces for Clusters. A request names a customer's namespace.
type reconciler struct {
	// client reads from the manager's cache.
	client client.Client
	// live reads from the API server.
	live     client.Reader
	clusters *optionalkind.Kind[reconcile.Request]
	options  topology.Options
	secrets  secretsrole.Binder
}

// Reconcile brings the namespaces of one customer a step further.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	o, err := r.observe(ctx, request.Name)
	if err != nil {
		return reconcile.Result{}, err
	}
	return secretaccess.Retry(r.apply(ctx, o, newPlan(o)))
}

func (r *reconciler) observe(ctx context.Context, name string) (observation, error) {
	o := observation{name: name, options: r.options}
	var err error
	if o.owner, err = read(ctx, r.client, name); err != nil {
		return o, err
	}
	if o.found, err = read(ctx, r.client, r.options.ClusterNamespace(name)); err != nil {
		return o, err
	}
	if o.ordering, o.remaining, err = orders(ctx, r.client, name); err != nil {
		return o, err
	}
	served, err := r.clusters.Served(ctx)
	if err != nil || !served {
		return o, err
	}
	o.clusters, err = hasAny(ctx, r.client, clusterList(), name)
	return o, err
}

// orders tells whether TenantClusters of a namespace have Clusters on order, and whether one of them stays.
func orders(ctx context.Context, reader client.Reader, namespace string) (ordering, remaining bool, err error) {
	list := &tenancyv1alpha1.TenantClusterList{}
	if err := reader.List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return false, false, fmt.Errorf("list TenantClusters in %s: %w", namespace, err)
	}
	for i := range list.Items {
		if list.Items[i].Spec.Topology != nil {
			remaining = true
			ordering = ordering || list.Items[i].DeletionTimestamp.IsZero()
		}
	}
	return ordering, remaining, nil
}

func clusterList() *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(clusterv1.GroupVersion.WithKind("ClusterList"))
	return list
}

func (r *reconciler) apply(ctx context.Context, o observation, p plan) error {
	if p.create != nil {
		if err := r.client.Create(ctx, p.create); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create namespace %s: %w", p.create.Name, err)
		}
	}
	if p.label {
		labelled := o.owner.DeepCopy()
		labelled.SetGroupVersionKind(metadata().GroupVersionKind())
		patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:"true"}}}`, metav1alpha1.LabelHoldsClusters)
		if err := r.client.Patch(ctx, labelled, client.RawPatch(types.MergePatchType, patch)); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("label namespace %s: %w", o.name, err)
		}
	}
	if p.remove {
		return r.remove(ctx, o)
	}
	if p.bind {
		return r.secrets.Bind(ctx, o.found.Name)
	}
	return nil
}

// remove deletes a namespace in which the API server knows of nothing. It is the one that was looked at, and nobody changed it since.
func (r *reconciler) remove(ctx context.Context, o observation) error {
	kept, err := r.keptBy(ctx, o)
	if err != nil {
		return err
	}
	if kept != "" {
		logf.FromContext(ctx).Info("A namespace for Clusters stays, though nothing is on order", "namespace", o.found.Name, "has", kept)
		return nil
	}
	found := o.found.DeepCopy()
	found.SetGroupVersionKind(metadata().GroupVersionKind())
	err = r.client.Delete(ctx, found, client.Preconditions{UID: &found.UID, ResourceVersion: &found.ResourceVersion})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // The cache is behind: what changed wakes this again.
	}
	if err != nil {
		return fmt.Errorf("delete namespace %s: %w", found.Name, err)
	}
	return nil
}
