package controllers

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daytwo-dev/daytwo/tools/local/provider/api/v1alpha1"
)

// newNode returns the node of a machine, as a kubelet would register it. KWOK adds
// the rest, and says that it is ready.
func newNode(local *v1alpha1.LocalMachine, machine *clusterv1.Machine) *corev1.Node {
	name := machine.Name
	labels := map[string]string{
		corev1.LabelHostname:   name,
		corev1.LabelOSStable:   "linux",
		corev1.LabelArchStable: "amd64",
	}
	maps.Copy(labels, local.Spec.NodeLabels)
	resources := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("1k"),
		corev1.ResourceMemory: resource.MustParse("1Ti"),
		corev1.ResourcePods:   *resource.NewQuantity(int64(local.Spec.PodCapacity), resource.DecimalSI),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec:       corev1.NodeSpec{ProviderID: "local://" + machine.Spec.ClusterName + "/" + name},
		Status: corev1.NodeStatus{
			Capacity:    resources,
			Allocatable: resources,
			NodeInfo:    corev1.NodeSystemInfo{KubeletVersion: machine.Spec.Version},
		},
	}
}

func (r *machineReconciler) createNode(ctx context.Context, cluster string, node *corev1.Node) error {
	workload, err := r.workload(cluster)
	if err != nil {
		return err
	}
	if workload == nil {
		return fmt.Errorf("there is no cluster %s for node %s to join", cluster, node.Name)
	}
	_, err = workload.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// deleteNode does nothing if the whole cluster goes, or has never answered: then
// there may be nobody to ask.
func (r *machineReconciler) deleteNode(ctx context.Context, local *v1alpha1.LocalMachine) error {
	cluster, err := clusterOf(ctx, r.client, local)
	if cluster == nil || err != nil {
		return err
	}
	if !cluster.DeletionTimestamp.IsZero() || !ptrTrue(cluster.Status.Initialization.ControlPlaneInitialized) {
		return nil
	}
	machine, err := r.machineOf(ctx, local)
	if machine == nil || err != nil {
		return err
	}
	workload, err := r.workload(orderedName(local))
	if workload == nil || err != nil {
		return err
	}
	return client.IgnoreNotFound(workload.CoreV1().Nodes().Delete(ctx, machine.Name, metav1.DeleteOptions{}))
}

// workload returns a client of an ordered cluster, or nil if there is no such
// cluster.
func (r *machineReconciler) workload(cluster string) (kubernetes.Interface, error) {
	local, ok := r.clusters.Cluster(cluster)
	if !ok {
		return nil, nil
	}
	return kubernetes.NewForConfig(local.Config())
}
