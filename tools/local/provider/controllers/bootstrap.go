package controllers

import (
	"context"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/daytwo-dev/daytwo/tools/local/provider/api/v1alpha1"
)

type bootstrapReconciler struct {
	client client.Client
}

// Reconcile writes the Secret that Cluster API waits for.
func (r *bootstrapReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	config := &v1alpha1.LocalBootstrapConfig{}
	if err := r.client.Get(ctx, request.NamespacedName, config); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	cluster, err := clusterToWorkFor(ctx, r.client, config)
	if cluster == nil || err != nil || !config.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, err
	}
	secret := newSecret(config, config.Name, config.Labels[clusterv1.ClusterNameLabel], []byte("nothing to do\n"))
	if err := controllerutil.SetControllerReference(config, secret, r.client.Scheme()); err != nil {
		return ctrl.Result{}, err
	}
	if err := write(ctx, r.client, secret); err != nil {
		return ctrl.Result{}, err
	}
	before := copyOf(config)
	config.Status.DataSecretName = secret.Name
	config.Status.Initialization.DataSecretCreated = new(true)
	setCondition(config, v1alpha1.ConditionReady, true, v1alpha1.ReasonReady, "")
	return ctrl.Result{}, saveStatus(ctx, r.client, before, config)
}
