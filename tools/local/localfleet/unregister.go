package localfleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
)

const (
	// unregisterDeadline covers the removal of everything that the manager keeps in a cluster.
	unregisterDeadline = 2 * time.Minute
	unregisterLook     = 200 * time.Millisecond
)

var (
	tenantClusters = schema.GroupVersionResource{Group: "tenancy.daytwo.dev", Version: "v1alpha1", Resource: "tenantclusters"}
	secrets        = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
)

// Unregister deletes the TenantCluster that Register made of a workload cluster, waits until the manager has let it go, and
// deletes the Secret with the kubeconfig. It does nothing to what is gone already. A TenantCluster of that name that
// somebody else made stays.
func (f *Fleet) Unregister(ctx context.Context, cluster *Cluster) error {
	client, err := dynamic.NewForConfig(f.Management().Config())
	if err != nil {
		return err
	}
	if err := f.deleteTenantCluster(ctx, client.Resource(tenantClusters).Namespace(FleetNamespace), cluster); err != nil {
		return err
	}
	return ignoreNotFound(client.Resource(secrets).Namespace(FleetNamespace).Delete(ctx, kubeconfigSecretName(cluster), metav1.DeleteOptions{}))
}

// deleteTenantCluster finds none in a management cluster without the definition, too.
func (f *Fleet) deleteTenantCluster(ctx context.Context, tenants dynamic.ResourceInterface, cluster *Cluster) error {
	tenant, err := tenants.Get(ctx, cluster.name, metav1.GetOptions{})
	if err != nil {
		return ignoreNotFound(err)
	}
	if secret, _, _ := unstructured.NestedString(tenant.Object, "spec", "kubeconfigRef", "name"); secret != kubeconfigSecretName(cluster) {
		return nil
	}
	f.progressf("%s: the manager removes what it keeps there", cluster.name)
	if err := ignoreNotFound(tenants.Delete(ctx, cluster.name, metav1.DeleteOptions{})); err != nil {
		return err
	}
	return f.awaitUnregistered(ctx, tenants, cluster.name)
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func (f *Fleet) awaitUnregistered(ctx context.Context, tenants dynamic.ResourceInterface, name string) error {
	last := &unstructured.Unstructured{}
	err := wait.PollUntilContextTimeout(ctx, unregisterLook, unregisterDeadline, true, func(ctx context.Context) (bool, error) {
		tenant, err := tenants.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		last = tenant
		if f.ManagerPID() == 0 && len(tenant.GetFinalizers()) > 0 {
			return false, errors.New("the manager, which has to let it go, does not run: start it with restart, and remove the cluster again")
		}
		return false, nil
	})
	if err == nil {
		return nil
	}
	return fmt.Errorf("TenantCluster %s/%s is not gone: %w%s", FleetNamespace, name, err, readyMessage(last))
}

// readyMessage tells what the condition Ready of an object says.
func readyMessage(object *unstructured.Unstructured) string {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, condition := range conditions {
		if fields, ok := condition.(map[string]any); ok && fields["type"] == "Ready" {
			return fmt.Sprintf("; it says %s: %s", fields["reason"], fields["message"])
		}
	}
	return ""
}
