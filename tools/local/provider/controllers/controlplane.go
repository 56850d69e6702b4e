package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
	"github.com/daytwo-dev/daytwo/tools/local/provider/api/v1alpha1"
)

// lookEvery is how often a control plane is looked at: there is no event for a
// program that was killed, nor for one that hangs.
const lookEvery = time.Second

type controlPlaneReconciler struct {
	client   client.Client
	clusters *localfleet.Ordered
}

// Reconcile makes what runs of a LocalControlPlane what its spec says.
func (r *controlPlaneReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	plane := &v1alpha1.LocalControlPlane{}
	if err := r.client.Get(ctx, request.NamespacedName, plane); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !plane.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, r.remove(ctx, plane)
	}
	cluster, err := clusterToWorkFor(ctx, r.client, plane)
	if cluster == nil || err != nil || !isPartOfCluster(plane) {
		return ctrl.Result{}, err
	}
	if err := addFinalizer(ctx, r.client, plane); err != nil {
		return ctrl.Result{}, err
	}
	// What is to be done is known to whoever watches before it takes its time.
	seen := r.look(ctx, plane)
	if err := r.say(ctx, plane, seen); err != nil {
		return ctrl.Result{}, err
	}
	acted, err := r.act(ctx, plane, cluster, seen)
	if acted || err != nil {
		seen = r.look(ctx, plane)
		seen.failed = err
		err = errors.Join(err, r.say(ctx, plane, seen))
	}
	return ctrl.Result{RequeueAfter: lookEvery}, err
}

func (r *controlPlaneReconciler) say(ctx context.Context, plane *v1alpha1.LocalControlPlane, seen observed) error {
	before := copyOf(plane)
	report(plane, seen)
	return saveStatus(ctx, r.client, before, plane)
}

// wanted is what the programs of a cluster, which are as is says, are to be.
func wanted(plane *v1alpha1.LocalControlPlane, is localfleet.ClusterOptions) localfleet.ClusterOptions {
	is.Version, is.APIServerArgs = plane.Spec.Version, plane.Spec.APIServerArgs
	return is
}

func sameOptions(a, b localfleet.ClusterOptions) bool {
	return a.Version == b.Version && slices.Equal(a.APIServerArgs, b.APIServerArgs)
}

// look finds out what runs, and changes nothing.
func (r *controlPlaneReconciler) look(ctx context.Context, plane *v1alpha1.LocalControlPlane) observed {
	o := observed{injected: injectedFailure(plane)}
	local, claimed := r.clusters.Cluster(orderedName(plane))
	if !claimed {
		return o
	}
	o.hasEndpoint = true
	o.running = local.Running()
	o.runs = local.Options().Version
	o.upToDate = sameOptions(local.Options(), wanted(plane, local.Options()))
	if err := r.clusters.CheckVersion(plane.Spec.Version); err != nil {
		o.unknownVersion = err.Error()
	}
	if o.running {
		o.notReady = local.Ready(ctx)
	}
	return o
}

// act starts what does not run, or runs otherwise than it should, and tells
// whether it did something.
func (r *controlPlaneReconciler) act(
	ctx context.Context, plane *v1alpha1.LocalControlPlane, cluster *clusterv1.Cluster, o observed,
) (acted bool, err error) {
	local, claimed := r.clusters.Cluster(orderedName(plane))
	if !claimed || !o.hasEndpoint || o.injected != "" {
		return false, nil
	}
	switch {
	case !o.upToDate && o.unknownVersion == "":
		acted, err = true, local.Reconfigure(ctx, wanted(plane, local.Options()))
	case !o.running && (o.upToDate && o.unknownVersion == "" || o.runs != ""):
		// It died. If what is asked for cannot be had, what ran before has to do.
		acted, err = true, local.Start(ctx)
	}
	if err != nil {
		return acted, err
	}
	return acted, r.ensureKubeconfig(ctx, plane, cluster, local)
}

func (r *controlPlaneReconciler) remove(ctx context.Context, plane *v1alpha1.LocalControlPlane) error {
	if isPartOfCluster(plane) {
		name := orderedName(plane)
		if err := r.clusters.Empty(ctx, name); err != nil {
			return fmt.Errorf("end %s: %w", name, err)
		}
		if err := r.deleteKubeconfig(ctx, plane); err != nil {
			return err
		}
	}
	return removeFinalizer(ctx, r.client, plane)
}
