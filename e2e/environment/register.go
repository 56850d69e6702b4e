package environment

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
)

// kubeconfigKey is the key of a kubeconfig in its Secret.
const kubeconfigKey = "value"

// Register makes a workload cluster of the fleet a TenantCluster of the same name. It does not wait
// until it is connected.
func (e *Environment) Register(ctx context.Context, namespace, cluster string, labels map[string]string) error {
	return e.RegisterAs(ctx, client.ObjectKey{Namespace: namespace, Name: cluster}, cluster, labels)
}

// RegisterAs makes a workload cluster of the fleet a TenantCluster of another name.
func (e *Environment) RegisterAs(ctx context.Context, tenant client.ObjectKey, cluster string, labels map[string]string) error {
	target, err := e.Fleet.Cluster(cluster)
	if err != nil {
		return err
	}
	return e.Import(ctx, tenant, target.Kubeconfig(), labels)
}

// Import makes whatever a kubeconfig leads to a TenantCluster. It creates the namespace if it is missing,
// the Secret NAME-kubeconfig and the TenantCluster.
func (e *Environment) Import(ctx context.Context, tenant client.ObjectKey, kubeconfig []byte, labels map[string]string) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: tenant.Namespace}}
	if err := client.IgnoreAlreadyExists(e.Admin.Create(ctx, namespace)); err != nil {
		return fmt.Errorf("create namespace %s: %w", tenant.Namespace, err)
	}
	secret := kubeconfigSecret(tenant)
	secret.Data = map[string][]byte{kubeconfigKey: kubeconfig}
	if err := e.Admin.Create(ctx, secret); err != nil {
		return fmt.Errorf("create Secret %s/%s: %w", secret.Namespace, secret.Name, err)
	}
	registered := &tenancyv1alpha1.TenantCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: tenant.Namespace, Name: tenant.Name, Labels: labels},
		Spec: tenancyv1alpha1.TenantClusterSpec{
			KubeconfigRef: &tenancyv1alpha1.KubeconfigReference{Name: secret.Name, Key: kubeconfigKey},
		},
	}
	if err := e.Admin.Create(ctx, registered); err != nil {
		return fmt.Errorf("create TenantCluster %s: %w", tenant, err)
	}
	return nil
}

// Lead changes the kubeconfig of a TenantCluster that Import or Register made.
func (e *Environment) Lead(ctx context.Context, tenant client.ObjectKey, kubeconfig []byte) error {
	before := kubeconfigSecret(tenant)
	after := before.DeepCopy()
	after.Data = map[string][]byte{kubeconfigKey: kubeconfig}
	if err := e.Admin.Patch(ctx, after, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("change Secret %s/%s: %w", before.Namespace, before.Name, err)
	}
	return nil
}

// Remove deletes a TenantCluster and its Secret, if they are there. It does not wait until they are gone.
func (e *Environment) Remove(ctx context.Context, tenant client.ObjectKey) error {
	cluster := &tenancyv1alpha1.TenantCluster{ObjectMeta: metav1.ObjectMeta{Namespace: tenant.Namespace, Name: tenant.Name}}
	if err := client.IgnoreNotFound(e.Admin.Delete(ctx, cluster)); err != nil {
		return fmt.Errorf("delete TenantCluster %s: %w", tenant, err)
	}
	secret := kubeconfigSecret(tenant)
	if err := client.IgnoreNotFound(e.Admin.Delete(ctx, secret)); err != nil {
		return fmt.Errorf("delete Secret %s/%s: %w", secret.Namespace, secret.Name, err)
	}
	return nil
}

// kubeconfigSecret is the Secret of a TenantCluster, without its content.
func kubeconfigSecret(tenant client.ObjectKey) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: tenant.Namespace, Name: tenant.Name + "-kubeconfig"}}
}
