package controllers

import (
	"context"
	"fmt"
	"net/url"
	"strconv"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
	"github.com/daytwo-dev/daytwo/tools/local/provider/api/v1alpha1"
)

type clusterReconciler struct {
	client   client.Client
	clusters *localfleet.Ordered
}

// Reconcile claims the port of a LocalCluster, or gives it back.
func (r *clusterReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	local := &v1alpha1.LocalCluster{}
	if err := r.client.Get(ctx, request.NamespacedName, local); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !local.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, r.remove(ctx, local)
	}
	cluster, err := clusterToWorkFor(ctx, r.client, local)
	if cluster == nil || err != nil || !isPartOfCluster(local) {
		return ctrl.Result{}, err
	}
	if err := addFinalizer(ctx, r.client, local); err != nil {
		return ctrl.Result{}, err
	}
	before := copyOf(local)
	if message := injectedFailure(local); message != "" {
		setCondition(local, v1alpha1.ConditionReady, false, v1alpha1.ReasonInjectedFailure, message)
		return ctrl.Result{}, saveStatus(ctx, r.client, before, local)
	}
	endpoint, err := r.claim(ctx, orderedName(local))
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := change(ctx, r.client, local, func() { local.Spec.ControlPlaneEndpoint = endpoint }); err != nil {
		return ctrl.Result{}, err
	}
	answers, err := r.hasAnswered(ctx, local)
	if err != nil {
		return ctrl.Result{}, err
	}
	before = copyOf(local)
	if answers {
		local.Status.Initialization.Provisioned = new(true)
		setCondition(local, v1alpha1.ConditionReady, true, v1alpha1.ReasonReady, "")
	} else {
		setCondition(local, v1alpha1.ConditionReady, false, v1alpha1.ReasonWaiting, "waiting for the control plane to answer")
	}
	return ctrl.Result{}, saveStatus(ctx, r.client, before, local)
}

// hasAnswered tells whether there was ever something to connect to. As soon as the
// infrastructure is provisioned, Cluster API tries to connect; if that fails, it
// does not try again for 30 seconds.
func (r *clusterReconciler) hasAnswered(ctx context.Context, local *v1alpha1.LocalCluster) (bool, error) {
	planes := &v1alpha1.LocalControlPlaneList{}
	err := r.client.List(ctx, planes, client.InNamespace(local.Namespace),
		client.MatchingLabels{clusterv1.ClusterNameLabel: local.Labels[clusterv1.ClusterNameLabel]})
	for _, plane := range planes.Items {
		if ptrTrue(plane.Status.Initialization.ControlPlaneInitialized) {
			return true, nil
		}
	}
	return false, err
}

func (r *clusterReconciler) claim(ctx context.Context, name string) (v1alpha1.APIEndpoint, error) {
	cluster, err := r.clusters.Claim(ctx, name)
	if err != nil {
		return v1alpha1.APIEndpoint{}, fmt.Errorf("claim a port for %s: %w", name, err)
	}
	endpoint, err := url.Parse(cluster.Endpoint())
	if err != nil {
		return v1alpha1.APIEndpoint{}, err
	}
	port, err := strconv.ParseInt(endpoint.Port(), 10, 32)
	return v1alpha1.APIEndpoint{Host: endpoint.Hostname(), Port: int32(port)}, err
}

func (r *clusterReconciler) remove(ctx context.Context, local *v1alpha1.LocalCluster) error {
	if isPartOfCluster(local) {
		name := orderedName(local)
		if err := r.clusters.Remove(ctx, name); err != nil {
			return fmt.Errorf("remove %s: %w", name, err)
		}
	}
	return removeFinalizer(ctx, r.client, local)
}
