package issuing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
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
	"github.com/daytwo-dev/daytwo/controllers/certificatebundle/authority"
	"github.com/daytwo-dev/daytwo/controllers/internal/fairqueue"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/optionalkind"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
	"github.com/daytwo-dev/daytwo/controllers/internal/secretaccess"
)

// +kubebuilder:rbac:groups=cert-manager.io,resources=certificates,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=cert-manager.io,resources=issuers,verbs=get;create;patch;delete
// +kubebuilder:rbac:groups=certificates.daytwo.dev,resources=certificatebundles;certificatedeliveries,verbs=get;list;watch
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,verbs=get;list;watch
// +kubebuilder:rbac:groups=tenancy.daytwo.dev,resources=tenantclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch

const (
	backoffFirst = 200 * time.Millisecond
	backoffLast  = 5 * time.Minute
	// workers is how many certificates are worked on at a time.
	workers = 8
)

// Reconciler has certificates issued.
type Reconciler struct {
	// Client reads from the manager's cache, which holds Secrets and Namespaces as metadata only.
	Client client.Client
	// APIReader reads from the API server.
	APIReader client.Reader
	Clock     clock.PassiveClock
	// Authorities of bundles that have their own.
	Authorities *authority.Store
	// Check returns an error if nothing may be issued for a bundle as it is.
	Check func(*certificatesv1alpha1.CertificateBundle) error
	// Changed is called when a cluster should have another issuance, or what is told of it is something else. Cluster is zero
	// for all clusters of the bundle.
	Changed func(bundle types.NamespacedName, cluster rollout.ClusterKey)

	certificates *optionalkind.Kind[Key]
	states       states
	asked        chan event.TypedGenericEvent[Key]
}

// Options of the controller.
type Options struct {
	// Wrap decorates the reconciler, if set.
	Wrap func(reconcile.TypedReconciler[Key]) reconcile.TypedReconciler[Key]
}

// SetupWithManager starts the controller with the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, opts Options) error {
	if err := addIndexes(context.Background(), mgr.GetFieldIndexer()); err != nil {
		return err
	}
	r.asked = make(chan event.TypedGenericEvent[Key], 1024)
	var reconciler reconcile.TypedReconciler[Key] = r
	if opts.Wrap != nil {
		reconciler = opts.Wrap(reconciler)
	}
	built, err := controller.NewTyped("certificateissuing", mgr, controller.TypedOptions[Key]{
		MaxConcurrentReconciles: workers, Reconciler: reconciler,
		NewQueue:    fairqueue.For(workers, placeOf),
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[Key](backoffFirst, backoffLast),
	})
	if err != nil {
		return err
	}
	r.certificates = &optionalkind.Kind[Key]{
		Definition: definition, GVK: certificateKind, New: func() client.Object { return newCertificate() },
		Cache: mgr.GetCache(), Mapper: mgr.GetRESTMapper(), Controller: built, Wake: toKey,
	}
	secret := objects.MetadataOf(corev1.SchemeGroupVersion.WithKind("Secret"))
	for _, watched := range []source.TypedSource[Key]{
		source.TypedChannel(r.asked, handler.TypedFuncs[Key, Key]{GenericFunc: func(_ context.Context, e event.TypedGenericEvent[Key], queue queue) { queue.Add(e.Object) }}),
		source.TypedKind[client.Object](mgr.GetCache(), secret, r.secretEvents()),
		source.TypedKind[client.Object](mgr.GetCache(), &certificatesv1alpha1.CertificateDelivery{}, r.deliveryEvents()),
		source.TypedKind[client.Object](mgr.GetCache(), &certificatesv1alpha1.CertificateBundle{}, r.bundleEvents()),
		source.TypedKind[client.Object](mgr.GetCache(), optionalkind.Definition(), handler.TypedEnqueueRequestsFromMapFunc(r.toWaiting)),
	} {
		if err := built.Watch(watched); err != nil {
			return err
		}
	}
	return nil
}

// placeOf has a certificate count for the customer in whose cluster it is used.
func placeOf(key Key) fairqueue.Place {
	return fairqueue.Place{Tenant: cmp.Or(key.Cluster.Namespace, key.Bundle.Namespace)}
}

type queue = workqueue.TypedRateLimitingInterface[Key]

// Want has a certificate issued, kept and renewed for as long as the bundle selects the cluster, or a target has it. It is
// issued already if current is not nil.
func (r *Reconciler) Want(key Key, current *Issuance) {
	pending := State{}
	if current == nil {
		pending = State{Reason: certificatesv1alpha1.ReasonIssuancePending, Message: "waiting for cert-manager"}
	}
	if r.states.want(key, pending) || current == nil {
		r.ask(key)
	}
}

func (r *Reconciler) ask(key Key) { r.asked <- event.TypedGenericEvent[Key]{Object: key} }

// Problems are the certificates of a bundle that are not issued, those that need a person first.
func (r *Reconciler) Problems(bundle types.NamespacedName) []Problem {
	return r.states.problems(bundle, State.IsPending)
}

// Forget what is remembered of a bundle that is gone.
func (r *Reconciler) Forget(bundle types.NamespacedName) { r.states.forget(bundle) }

// Reconcile brings one certificate a step further.
func (r *Reconciler) Reconcile(ctx context.Context, key Key) (reconcile.Result, error) {
	o, err := r.observe(ctx, key)
	if err != nil {
		return secretaccess.Retry(err)
	}
	p := newPlan(o)
	err = r.apply(ctx, o, p)
	if taken := (*authority.TakenError)(nil); errors.As(err, &taken) {
		p.state, p.again, err = State{Reason: certificatesv1alpha1.ReasonIssuanceFailed, Message: taken.Error()}, o.now.Add(lookAgain), nil
	}
	if err == nil && r.states.set(key, p.state, o.needed) {
		r.Changed(key.Bundle, key.Cluster)
	}
	if err != nil {
		return secretaccess.Retry(fmt.Errorf("certificate of %s: %w", key, err))
	}
	if p.again.IsZero() {
		return reconcile.Result{}, nil
	}
	return reconcile.Result{RequeueAfter: max(p.again.Sub(o.now), time.Millisecond)}, nil
}

// toKey finds the certificate that an object belongs to.
func toKey(_ context.Context, object client.Object) []Key {
	if key, ok := keyFromLabels(object); ok {
		return []Key{key}
	}
	return nil
}

// secretEvents tell of what cert-manager issued, and of issuances that come and go.
func (r *Reconciler) secretEvents() handler.TypedEventHandler[client.Object, Key] {
	note := func(secret client.Object, queue queue) {
		key, ok := keyFromLabels(secret)
		if !ok {
			return
		}
		if isIssuance(secret) {
			r.Changed(key.Bundle, key.Cluster)
		}
		queue.Add(key)
	}
	return handler.TypedFuncs[client.Object, Key]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[client.Object], queue queue) { note(e.Object, queue) },
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[client.Object], queue queue) {
			if e.ObjectOld.GetResourceVersion() != e.ObjectNew.GetResourceVersion() {
				note(e.ObjectNew, queue)
			}
		},
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[client.Object], queue queue) { note(e.Object, queue) },
	}
}

// deliveryEvents tell of targets that are gone, or have something else: what they had may not be in use any more.
func (r *Reconciler) deliveryEvents() handler.TypedEventHandler[client.Object, Key] {
	add := func(ctx context.Context, object client.Object, queue queue) {
		labels := object.GetLabels()
		cluster := rollout.ClusterKey{Namespace: labels[metav1alpha1.LabelClusterNamespace], Name: labels[metav1alpha1.LabelCluster]}
		bundle := &certificatesv1alpha1.CertificateBundle{}
		// One that is gone has an event of its own.
		if err := r.Client.Get(ctx, types.NamespacedName{Namespace: object.GetNamespace(), Name: labels[metav1alpha1.LabelPolicy]}, bundle); err == nil {
			queue.Add(KeyOf(bundle, cluster))
		}
	}
	return handler.TypedFuncs[client.Object, Key]{
		UpdateFunc: func(ctx context.Context, e event.TypedUpdateEvent[client.Object], queue queue) {
			before, after := e.ObjectOld.(*certificatesv1alpha1.CertificateDelivery), e.ObjectNew.(*certificatesv1alpha1.CertificateDelivery)
			if before.Spec.Content != after.Spec.Content || issuanceIn(before) != issuanceIn(after) {
				add(ctx, after, queue)
			}
		},
		DeleteFunc: func(ctx context.Context, e event.TypedDeleteEvent[client.Object], queue queue) {
			add(ctx, e.Object, queue)
		},
	}
}

func issuanceIn(delivery *certificatesv1alpha1.CertificateDelivery) string {
	if delivery.Status.Certificate == nil {
		return ""
	}
	return delivery.Status.Certificate.Issuance
}

// bundleEvents have all certificates of a bundle looked at that was edited, or is gone. With each bundle that the manager finds it
// looks for Certificates, and so begins to watch them: one that no Secret was issued for yet, and that a manager before asked
// for, is found in no other way.
func (r *Reconciler) bundleEvents() handler.TypedEventHandler[client.Object, Key] {
	all := func(ctx context.Context, bundle client.Object, queue queue) {
		for _, key := range r.keysOf(ctx, client.ObjectKeyFromObject(bundle)) {
			queue.Add(key)
		}
	}
	return handler.TypedFuncs[client.Object, Key]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[client.Object], queue queue) {
			if e.Object.(*certificatesv1alpha1.CertificateBundle).Spec.Certificate != nil {
				queue.Add(Key{Bundle: client.ObjectKeyFromObject(e.Object)})
			}
		},
		UpdateFunc: func(ctx context.Context, e event.TypedUpdateEvent[client.Object], queue queue) {
			if e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() {
				all(ctx, e.ObjectNew, queue)
			}
		},
		DeleteFunc: func(ctx context.Context, e event.TypedDeleteEvent[client.Object], queue queue) {
			all(ctx, e.Object, queue)
		},
	}
}

// keysOf are the certificates that something was made for, or is to be.
func (r *Reconciler) keysOf(ctx context.Context, bundle types.NamespacedName) (keys []Key) {
	secrets, err := list(ctx, r.Client, bundle.Namespace, indexBundle, bundle.String())
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "the certificates of a bundle are not looked at", "object", bundle.String())
	}
	for i := range secrets {
		if key, ok := keyFromLabels(&secrets[i]); ok {
			keys = append(keys, key)
		}
	}
	for _, cluster := range r.states.wantedOf(bundle) {
		keys = append(keys, Key{Bundle: bundle, Cluster: cluster})
	}
	return keys
}

// toWaiting are the certificates that wait for cert-manager to be installed.
func (r *Reconciler) toWaiting(_ context.Context, crd client.Object) []Key {
	if crd.GetName() != definition {
		return nil
	}
	return r.states.allNotIssued()
}
