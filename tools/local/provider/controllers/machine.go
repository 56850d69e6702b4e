package controllers

import (
	"context"
	"errors"
	"fmt"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
	"github.com/daytwo-dev/daytwo/tools/local/provider/api/v1alpha1"
)

const machineKind = "Machine"

type machineReconciler struct {
	client   client.Client
	clusters *localfleet.Ordered
}

// Reconcile lets the node of a LocalMachine join its cluster, or takes it away.
func (r *machineReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	local := &v1alpha1.LocalMachine{}
	if err := r.client.Get(ctx, request.NamespacedName, local); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !local.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, r.remove(ctx, local)
	}
	cluster, err := clusterToWorkFor(ctx, r.client, local)
	if cluster == nil || err != nil {
		return ctrl.Result{}, err
	}
	machine, err := r.machineOf(ctx, local)
	if machine == nil || err != nil {
		return ctrl.Result{}, err
	}
	if err := addFinalizer(ctx, r.client, local); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.join(ctx, local, machine, cluster)
}

// join creates the node, once, and says so.
func (r *machineReconciler) join(
	ctx context.Context, local *v1alpha1.LocalMachine, machine *clusterv1.Machine, cluster *clusterv1.Cluster,
) error {
	before := copyOf(local)
	if reason, message := obstacle(local, machine, cluster); reason != "" {
		setCondition(local, v1alpha1.ConditionReady, false, reason, message)
		return saveStatus(ctx, r.client, before, local)
	}
	node := newNode(local, machine)
	if !ptrTrue(local.Status.Initialization.Provisioned) {
		if err := r.createNode(ctx, orderedName(local), node); err != nil {
			setCondition(local, v1alpha1.ConditionReady, false, v1alpha1.ReasonFailed, err.Error())
			return errors.Join(err, saveStatus(ctx, r.client, before, local))
		}
	}
	if err := change(ctx, r.client, local, func() { local.Spec.ProviderID = node.Spec.ProviderID }); err != nil {
		return err
	}
	before = copyOf(local)
	local.Status.Initialization.Provisioned = new(true)
	setCondition(local, v1alpha1.ConditionReady, true, v1alpha1.ReasonReady, "")
	return saveStatus(ctx, r.client, before, local)
}

// obstacle returns what keeps a node from joining, or "".
func obstacle(local *v1alpha1.LocalMachine, machine *clusterv1.Machine, cluster *clusterv1.Cluster) (reason, message string) {
	switch {
	case injectedFailure(local) != "":
		return v1alpha1.ReasonInjectedFailure, injectedFailure(local)
	case !ptrTrue(cluster.Status.Initialization.ControlPlaneInitialized):
		return v1alpha1.ReasonWaiting, "waiting for the control plane"
	case machine.Spec.Bootstrap.DataSecretName == nil:
		return v1alpha1.ReasonWaiting, "waiting for the bootstrap data"
	}
	return "", ""
}

// machineOf returns the Machine that a LocalMachine was made for; nil as long as it has
// no owner.
func (r *machineReconciler) machineOf(ctx context.Context, local *v1alpha1.LocalMachine) (*clusterv1.Machine, error) {
	for _, owner := range local.OwnerReferences {
		if owner.Kind != machineKind {
			continue
		}
		machine := &clusterv1.Machine{}
		err := r.client.Get(ctx, client.ObjectKey{Namespace: local.Namespace, Name: owner.Name}, machine)
		if err != nil {
			return nil, client.IgnoreNotFound(err)
		}
		return machine, nil
	}
	return nil, nil
}

func (r *machineReconciler) remove(ctx context.Context, local *v1alpha1.LocalMachine) error {
	if err := r.deleteNode(ctx, local); err != nil {
		return fmt.Errorf("remove the node of %s: %w", local.Name, err)
	}
	return removeFinalizer(ctx, r.client, local)
}
