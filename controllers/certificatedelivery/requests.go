package certificatedelivery

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/certificatedelivery/relay"
	"github.com/daytwo-dev/daytwo/controllers/internal/conditions"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
)

// tellAfter is how long a delivery waits before it tells of its requests: a cluster that makes many causes one write of the status in
// that time.
const tellAfter = time.Second

// setUpRelay starts the controller that answers requests. The deliveries tell what comes of that.
func (r *Reconciler) setUpRelay(mgr ctrl.Manager, options target.Options) error {
	wake := &waker{}
	r.relay = &relay.Reconciler{
		Client: r.Room.Client, APIReader: r.Room.APIReader, Fleet: r.Room.Fleet, Clock: r.Clock, ProviderNamespace: r.Room.ProviderNamespace,
		Cluster: func(ctx context.Context, delivery *certificatesv1alpha1.CertificateDelivery) (*fleet.Cluster, target.Preconditions, error) {
			found := target.NewPreconditions(delivery, r.Clock.Now())
			cluster, err := r.Room.Observe(ctx, &found)
			return cluster, found, err
		},
		Changed: wake.add,
	}
	watch := r.Room.AddWatches
	r.Room.AddWatches = func(b *builder.Builder) {
		if watch != nil {
			watch(b)
		}
		b.WatchesRawSource(source.Func(wake.start))
	}
	return r.relay.SetupWithManager(mgr, relay.Options{Wrap: options.Wrap})
}

// waker wakes deliveries once their controller has started. Before that all of them are worked on anyway.
type waker struct {
	queue atomic.Pointer[workqueue.TypedRateLimitingInterface[reconcile.Request]]
}

func (w *waker) start(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	w.queue.Store(&queue)
	return nil
}

func (w *waker) add(delivery types.NamespacedName) {
	if queue := w.queue.Load(); queue != nil {
		(*queue).AddAfter(reconcile.Request{NamespacedName: delivery}, tellAfter)
	}
}

// ObserveHere implements target.StagedKind: what came of requests, another controller knows.
func (r *Reconciler) ObserveHere(_ context.Context, o *observation) error {
	if r.relay != nil && o.Target.Spec.SignerName != "" {
		o.Extra.requests = r.relay.StateOf(client.ObjectKeyFromObject(o.Target))
	}
	return nil
}

// requestsTrouble is why requests are not answered; nil if they are, or nothing is known.
func requestsTrouble(o *observation) *target.Verdict {
	told := o.Extra.requests
	if !told.IsKnown(o.Target.Generation) || !told.Failed {
		return nil
	}
	return &target.Verdict{Reason: told.Reason, Message: told.Message, Stalled: true}
}

// concludeRequests tells of the requests in the cluster. Until they were looked at, what was told before stands.
func concludeRequests(o *observation, status *certificatesv1alpha1.CertificateDeliveryStatus) {
	list := conditions.List{Conditions: &status.Conditions, Generation: o.Target.Generation, Now: o.Now}
	told := o.Extra.requests
	switch {
	case o.Target.Spec.SignerName == "":
		list.Remove(certificatesv1alpha1.ConditionRequestsServed)
		status.Requests = nil
	case o.Unreachable != "":
		list.Set(certificatesv1alpha1.ConditionRequestsServed, metav1.ConditionUnknown, o.UnreachableReason(), o.Unreachable)
	case told.IsKnown(o.Target.Generation):
		list.Set(certificatesv1alpha1.ConditionRequestsServed, told.Status, told.Reason, told.Message)
		if told.Summary != nil {
			status.Requests = told.Summary.DeepCopy()
		}
	case list.Get(certificatesv1alpha1.ConditionRequestsServed) == nil:
		list.Set(certificatesv1alpha1.ConditionRequestsServed, metav1.ConditionUnknown, metav1alpha1.ReasonProgressing, "the requests of the cluster were not looked at yet")
	}
}

// requestsIn says how many requests there are, for people.
func requestsIn(counts *certificatesv1alpha1.RequestSummary) string {
	return fmt.Sprintf("requests are answered: %d issued, %d denied, %d pending", counts.Issued, counts.Denied, counts.Pending)
}
