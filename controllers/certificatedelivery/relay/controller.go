package relay

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fairqueue"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/optionalkind"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
)

// +kubebuilder:rbac:groups=cert-manager.io,resources=certificaterequests,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=certificates.daytwo.dev,resources=certificatedeliveries,verbs=get;list;watch
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,verbs=get;list;watch
// +kubebuilder:rbac:groups=tenancy.daytwo.dev,resources=tenantclusters,verbs=get;list;watch

const (
	backoffFirst = 200 * time.Millisecond
	backoffLast  = 5 * time.Minute
	// workers is how many clusters' requests are answered at a time.
	workers = 32
	// longestReconcile ends one in a cluster that does not answer in time. What was done by then is not done again.
	longestReconcile = 30 * time.Second
)

// Reconciler answers requests.
type Reconciler struct {
	// Client reads from the manager's cache.
	Client client.Client
	// APIReader reads from the API server.
	APIReader client.Reader
	Fleet     *fleet.Fleet
	Clock     clock.PassiveClock
	// Cluster finds the cluster of a delivery; nil if there is none to work with.
	Cluster func(context.Context, *certificatesv1alpha1.CertificateDelivery) (*fleet.Cluster, target.Preconditions, error)
	// ProviderNamespace is where bundles come first, if two have one name in a cluster.
	ProviderNamespace string
	// Changed is called when a delivery has something else to tell. It must not block.
	Changed func(delivery types.NamespacedName)

	requests *optionalkind.Kind[reconcile.Request]
	memory   memory
}

// Options of the controller.
type Options struct {
	// Wrap decorates the reconciler, if set.
	Wrap func(reconcile.Reconciler) reconcile.Reconciler
}

// SetupWithManager starts the controller with the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, options Options) error {
	var reconciler reconcile.Reconciler = r
	if options.Wrap != nil {
		reconciler = options.Wrap(reconciler)
	}
	built, err := controller.New("certificaterelay", mgr, controller.Options{
		MaxConcurrentReconciles: workers, Reconciler: reconciler, ReconciliationTimeout: longestReconcile,
		NewQueue:    fairqueue.For(workers, fairqueue.InCluster(r.Client, newDelivery, clusterOf)),
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](backoffFirst, backoffLast),
	})
	if err != nil {
		return err
	}
	r.requests = &optionalkind.Kind[reconcile.Request]{
		Definition: definition, GVK: certificateRequestKind, New: func() client.Object { return objects.MetadataOf(certificateRequestKind) },
		Cache: mgr.GetCache(), Mapper: mgr.GetRESTMapper(), Controller: built, Wake: toDelivery,
	}
	for _, watched := range []source.Source{
		source.Kind[client.Object](mgr.GetCache(), &certificatesv1alpha1.CertificateDelivery{}, deliveryEvents()),
		source.Kind[client.Object](mgr.GetCache(), &tenancyv1alpha1.TenantCluster{}, r.tenantEvents()),
		source.Kind[client.Object](mgr.GetCache(), optionalkind.Definition(), handler.EnqueueRequestsFromMapFunc(r.toWaiting)),
		source.Func(r.subscribe),
	} {
		if err := built.Watch(watched); err != nil {
			return err
		}
	}
	return nil
}

func newDelivery() *certificatesv1alpha1.CertificateDelivery {
	return &certificatesv1alpha1.CertificateDelivery{}
}

func clusterOf(delivery *certificatesv1alpha1.CertificateDelivery) types.NamespacedName {
	return target.ClusterKey(delivery)
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// StateOf is what a delivery has to tell of its requests.
func (r *Reconciler) StateOf(delivery types.NamespacedName) State { return r.memory.stateOf(delivery) }

// Reconcile answers the requests of one delivery.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	key := request.NamespacedName
	o, cluster, err := r.observe(ctx, key)
	if err != nil {
		return reconcile.Result{}, err
	}
	o.namespace = key.Namespace
	known := r.memory.of(key)
	p, err := r.apply(ctx, o, newPlan(o), known, cluster)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("requests of CertificateDelivery %s: %w", key, err)
	}
	if o.delivery == nil {
		r.memory.forget(key)
	} else if !o.wait && r.memory.set(known, p.state) {
		r.Changed(key)
	}
	if p.again.IsZero() {
		return reconcile.Result{}, nil
	}
	return reconcile.Result{RequeueAfter: max(p.again.Sub(o.now), time.Millisecond)}, nil
}

func requestFor(delivery types.NamespacedName) reconcile.Request {
	return reconcile.Request{NamespacedName: delivery}
}

// toDelivery finds the delivery that a CertificateRequest was made for.
func toDelivery(_ context.Context, object client.Object) []reconcile.Request {
	name := object.GetLabels()[metav1alpha1.LabelDelivery]
	if name == "" {
		return nil
	}
	return []reconcile.Request{requestFor(types.NamespacedName{Namespace: object.GetNamespace(), Name: name})}
}

// deliveryEvents tell of deliveries that answer requests, when what they are to do changes.
func deliveryEvents() handler.EventHandler {
	add := func(object client.Object, queue queue) {
		if object.(*certificatesv1alpha1.CertificateDelivery).Spec.SignerName != "" {
			queue.Add(requestFor(client.ObjectKeyFromObject(object)))
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, queue queue) { add(e.Object, queue) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, queue queue) {
			if e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() || !equality.Semantic.DeepEqual(e.ObjectOld.GetAnnotations(), e.ObjectNew.GetAnnotations()) {
				add(e.ObjectNew, queue)
			}
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, queue queue) { add(e.Object, queue) },
	}
}

// tenantEvents tell of what people change on a TenantCluster, such as its suspension, and of its upgrades.
func (r *Reconciler) tenantEvents() handler.EventHandler {
	return handler.Funcs{UpdateFunc: func(_ context.Context, e event.UpdateEvent, queue queue) {
		before, after := e.ObjectOld.(*tenancyv1alpha1.TenantCluster), e.ObjectNew.(*tenancyv1alpha1.TenantCluster)
		if before.Generation == after.Generation && equality.Semantic.DeepEqual(before.Annotations, after.Annotations) &&
			equality.Semantic.DeepEqual(before.Status.Upgrade, after.Status.Upgrade) {
			return
		}
		for _, delivery := range r.memory.in(client.ObjectKeyFromObject(after)) {
			queue.Add(requestFor(delivery))
		}
	}}
}

// toWaiting are all deliveries, when cert-manager is installed or removed.
func (r *Reconciler) toWaiting(_ context.Context, crd client.Object) (found []reconcile.Request) {
	if crd.GetName() != definition {
		return nil
	}
	for _, delivery := range r.memory.all() {
		found = append(found, requestFor(delivery))
	}
	return found
}

// subscribe turns what the fleet tells into requests.
func (r *Reconciler) subscribe(_ context.Context, queue queue) error {
	r.Fleet.Subscribe(fleet.Subscriber{
		Object: func(owner tracker.Owner, _ bool) {
			if owner.Kind == ownerKind {
				queue.Add(requestFor(owner.NamespacedName))
			}
		},
		Cluster: func(key types.NamespacedName) {
			for _, delivery := range r.memory.in(key) {
				queue.Add(requestFor(delivery))
			}
		},
	})
	return nil
}
