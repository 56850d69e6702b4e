package tenantcluster

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/background"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/kubeconfig"
	"github.com/daytwo-dev/daytwo/controllers/internal/managementserver"
	"github.com/daytwo-dev/daytwo/controllers/internal/orphans"
	"github.com/daytwo-dev/daytwo/controllers/internal/perobject"
	"github.com/daytwo-dev/daytwo/controllers/internal/postponed"
	"github.com/daytwo-dev/daytwo/controllers/internal/targets"
	"github.com/daytwo-dev/daytwo/controllers/internal/times"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/clusterapi"
)

// catchUp is how long a reconcile is put off whose cache was behind the API server.
const catchUp = 100 * time.Millisecond

// +kubebuilder:rbac:groups=tenancy.daytwo.dev,resources=tenantclusters,verbs=get;list;watch;patch;manage
// +kubebuilder:rbac:groups=tenancy.daytwo.dev,resources=tenantclusters/finalizers,verbs=update
// +kubebuilder:rbac:groups=tenancy.daytwo.dev,resources=tenantclusters/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups="",resources=namespaces,resourceNames=kube-system,verbs=get
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// connections is what the controller needs of a fleet.
type connections interface {
	Connect(key types.NamespacedName, access kubeconfig.Access)
	Disconnect(key types.NamespacedName)
	Forget(key types.NamespacedName)
	TryNow(key types.NamespacedName)
	State(key types.NamespacedName) (fleet.State, bool)
	Admit(key types.NamespacedName, identity types.UID) error
	Withdraw(key types.NamespacedName)
	Get(key types.NamespacedName) (*fleet.Cluster, bool)
	Renew(key types.NamespacedName, access kubeconfig.Access)
}

// reconciler keeps TenantClusters connected.
type reconciler struct {
	// client reads from the manager's cache, which holds Secrets as metadata only.
	client client.Client
	// live reads from the API server.
	live   client.Reader
	events events.EventRecorder
	// orphans is where what may outlive its TenantCluster is recorded.
	orphans     orphans.Records
	clock       clock.PassiveClock
	connections connections
	targets     targets.Registry
	clusters    *clusterapi.Clusters
	options     Options
	// renewals are the tasks that come by credentials.
	renewals *background.Tasks[written]

	memory     perobject.Memory[known]
	updates    postponed.Memory[*tenancyv1alpha1.TenantCluster]
	management managementserver.Identity
}

// Reconcile brings one TenantCluster a step further.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	o, err := r.observe(ctx, request.NamespacedName)
	if err != nil {
		return reconcile.Result{}, err
	}
	p := newPlan(*o)
	done := r.apply(ctx, *o, p)
	if done.released {
		r.memory.Forget(request.NamespacedName)
		r.updates.Forget(request.NamespacedName)
		return settle(0, done.err)
	}
	reported := newReport(*o, p, done)
	r.memory.Of(request.NamespacedName).untold = reported.untold
	later, unpublished := r.publish(ctx, *o, done, reported)
	return settle(times.Sooner(reported.again, later), done.err, done.handout, o.made.unsettled, unpublished)
}

// settle turns a conflict into a try with a cache that has caught up: it is nobody's fault.
func settle(again time.Duration, problems ...error) (reconcile.Result, error) {
	err := errors.Join(problems...)
	if apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: catchUp}, nil
	}
	return reconcile.Result{RequeueAfter: again}, err
}
