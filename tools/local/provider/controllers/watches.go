package controllers

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/daytwo-dev/daytwo/tools/local/provider/api/v1alpha1"
)

// ofCluster finds the objects of list's kind that belong to a Cluster.
func ofCluster(c client.Client, list client.ObjectList) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, cluster client.Object) []reconcile.Request {
		return belongingTo(ctx, c, list, cluster.GetNamespace(), cluster.GetName())
	})
}

// ofSameCluster finds the objects of list's kind that belong to the Cluster that
// another object belongs to.
func ofSameCluster(c client.Client, list client.ObjectList) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, other client.Object) []reconcile.Request {
		return belongingTo(ctx, c, list, other.GetNamespace(), other.GetLabels()[clusterv1.ClusterNameLabel])
	})
}

func belongingTo(
	ctx context.Context, c client.Client, list client.ObjectList, namespace, cluster string,
) []reconcile.Request {
	found := list.DeepCopyObject().(client.ObjectList)
	err := c.List(ctx, found, client.InNamespace(namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: cluster})
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot list what belongs to a cluster", "cluster", cluster)
		return nil
	}
	var requests []reconcile.Request
	_ = meta.EachListItem(found, func(item runtime.Object) error { // It fails only if this does.
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(item.(client.Object))})
		return nil
	})
	return requests
}

// infrastructureOfMachine finds the LocalMachine that was made for a Machine.
func infrastructureOfMachine(_ context.Context, o client.Object) []reconcile.Request {
	machine, ok := o.(*clusterv1.Machine)
	if !ok || machine.Spec.InfrastructureRef.APIGroup != v1alpha1.GroupVersion.Group {
		return nil
	}
	key := client.ObjectKey{Namespace: machine.Namespace, Name: machine.Spec.InfrastructureRef.Name}
	return []reconcile.Request{{NamespacedName: key}}
}
