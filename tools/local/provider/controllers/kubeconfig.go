package controllers

import (
	"bytes"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
	"github.com/daytwo-dev/daytwo/tools/local/provider/api/v1alpha1"
)

// kubeconfigKey is where Cluster API and everybody else look for the kubeconfig.
const kubeconfigKey = "value"

func kubeconfigName(cluster string) string { return cluster + "-kubeconfig" }

// ensureKubeconfig writes the Secret with the administrator's kubeconfig, unless
// it is there already.
func (r *controlPlaneReconciler) ensureKubeconfig(
	ctx context.Context, plane *v1alpha1.LocalControlPlane, cluster *clusterv1.Cluster, local *localfleet.Cluster,
) error {
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: cluster.Namespace, Name: kubeconfigName(cluster.Name)}
	err := r.client.Get(ctx, key, secret)
	if err == nil && bytes.Equal(secret.Data[kubeconfigKey], local.Kubeconfig()) {
		return nil
	}
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	wanted := newSecret(plane, key.Name, cluster.Name, local.Kubeconfig())
	if err := controllerutil.SetControllerReference(plane, wanted, r.client.Scheme()); err != nil {
		return err
	}
	return write(ctx, r.client, wanted)
}

func (r *controlPlaneReconciler) deleteKubeconfig(ctx context.Context, plane *v1alpha1.LocalControlPlane) error {
	name := kubeconfigName(plane.Labels[clusterv1.ClusterNameLabel])
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: plane.Namespace, Name: name}}
	if err := r.client.Delete(ctx, secret); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete Secret %s: %w", name, err)
	}
	return nil
}

// newSecret returns a Secret of the type that Cluster API's Secrets have.
func newSecret(owner object, name, cluster string, value []byte) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: owner.GetNamespace(),
			Name:      name,
			Labels:    map[string]string{clusterv1.ClusterNameLabel: cluster},
		},
		Type: clusterv1.ClusterSecretType,
		Data: map[string][]byte{kubeconfigKey: value},
	}
}

// write creates a Secret, or replaces the one that is there.
func write(ctx context.Context, c client.Client, secret *corev1.Secret) error {
	err := c.Create(ctx, secret)
	if apierrors.IsAlreadyExists(err) {
		err = c.Update(ctx, secret)
	}
	if err != nil {
		return fmt.Errorf("write Secret %s: %w", secret.Name, err)
	}
	return nil
}
