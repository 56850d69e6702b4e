package controllers

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
	"github.com/daytwo-dev/daytwo/tools/local/provider/api/v1alpha1"
)

// startParallel is how many control planes are started at once. More of them only
// get in each other's way.
const startParallel = 4

// cheapParallel is the number of workers of what takes no time.
const cheapParallel = 8

// NewManager returns a manager with all controllers. It answers /readyz at
// healthAddr.
func NewManager(config *rest.Config, clusters *localfleet.Ordered, healthAddr string) (ctrl.Manager, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	ofClusters, err := labels.NewRequirement(clusterv1.ClusterNameLabel, selection.Exists, nil)
	if err != nil {
		return nil, err
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                 scheme,
		Metrics:                server.Options{BindAddress: "0"},
		HealthProbeBindAddress: healthAddr,
		Cache: cache.Options{ByObject: map[client.Object]cache.ByObject{
			&corev1.Secret{}: {Label: labels.NewSelector().Add(*ofClusters)},
		}},
	})
	if err != nil {
		return nil, err
	}
	if err := manager.AddReadyzCheck("ping", healthz.Ping); err != nil {
		return nil, err
	}
	return manager, setupAll(manager, clusters)
}

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, clusterv1.AddToScheme, v1alpha1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return scheme, nil
}

func setupAll(manager ctrl.Manager, clusters *localfleet.Ordered) error {
	c := manager.GetClient()
	cheap, starting := controller.Options{MaxConcurrentReconciles: cheapParallel},
		controller.Options{MaxConcurrentReconciles: startParallel}
	err := ctrl.NewControllerManagedBy(manager).For(&v1alpha1.LocalCluster{}).WithOptions(cheap).
		Watches(&clusterv1.Cluster{}, ofCluster(c, &v1alpha1.LocalClusterList{})).
		Watches(&v1alpha1.LocalControlPlane{}, ofSameCluster(c, &v1alpha1.LocalClusterList{})).
		Complete(&clusterReconciler{client: c, clusters: clusters})
	if err != nil {
		return fmt.Errorf("set up LocalCluster: %w", err)
	}
	err = ctrl.NewControllerManagedBy(manager).For(&v1alpha1.LocalControlPlane{}).WithOptions(starting).
		Owns(&corev1.Secret{}).
		Watches(&clusterv1.Cluster{}, ofCluster(c, &v1alpha1.LocalControlPlaneList{})).
		Watches(&v1alpha1.LocalCluster{}, ofSameCluster(c, &v1alpha1.LocalControlPlaneList{})).
		Complete(&controlPlaneReconciler{client: c, clusters: clusters})
	if err != nil {
		return fmt.Errorf("set up LocalControlPlane: %w", err)
	}
	err = ctrl.NewControllerManagedBy(manager).For(&v1alpha1.LocalMachine{}).WithOptions(cheap).
		Watches(&clusterv1.Cluster{}, ofCluster(c, &v1alpha1.LocalMachineList{})).
		Watches(&clusterv1.Machine{}, handler.EnqueueRequestsFromMapFunc(infrastructureOfMachine)).
		Complete(&machineReconciler{client: c, clusters: clusters})
	if err != nil {
		return fmt.Errorf("set up LocalMachine: %w", err)
	}
	err = ctrl.NewControllerManagedBy(manager).For(&v1alpha1.LocalBootstrapConfig{}).WithOptions(cheap).
		Owns(&corev1.Secret{}).
		Complete(&bootstrapReconciler{client: c})
	if err != nil {
		return fmt.Errorf("set up LocalBootstrapConfig: %w", err)
	}
	return nil
}
