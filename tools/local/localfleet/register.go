package localfleet

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/daytwo-dev/daytwo/tools/local/manifests"
)

// FleetNamespace is where Register puts TenantClusters.
const FleetNamespace = "fleet"

// Register makes workload clusters TenantClusters of the management cluster, in
// FleetNamespace and labelled env=local, each with a Secret that holds its
// administrator's kubeconfig. The TenantCluster's definition must have been
// applied before.
func (f *Fleet) Register(ctx context.Context, clusters ...*Cluster) error {
	objects := []*unstructured.Unstructured{{Object: map[string]any{
		"apiVersion": "v1",
		"kind":       "Namespace",
		"metadata":   map[string]any{"name": FleetNamespace},
	}}}
	for _, cluster := range clusters {
		objects = append(objects, kubeconfigSecret(cluster), tenantCluster(cluster))
	}
	if err := manifests.Apply(ctx, f.Management().Config(), objects); err != nil {
		return fmt.Errorf("register clusters: %w", err)
	}
	f.progressf("registered in namespace %s: %s", FleetNamespace, strings.Join(namesOf(clusters), ", "))
	return nil
}

func namesOf(clusters []*Cluster) (names []string) {
	for _, cluster := range clusters {
		names = append(names, cluster.name)
	}
	return names
}

func kubeconfigSecretName(c *Cluster) string { return c.name + "-kubeconfig" }

func kubeconfigSecret(c *Cluster) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1",
		"kind":       "Secret",
		"metadata":   map[string]any{"name": kubeconfigSecretName(c), "namespace": FleetNamespace},
		"data":       map[string]any{"value": base64.StdEncoding.EncodeToString(c.Kubeconfig())},
	}}
}

func tenantCluster(c *Cluster) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "tenancy.daytwo.dev/v1alpha1",
		"kind":       "TenantCluster",
		"metadata": map[string]any{
			"name":      c.name,
			"namespace": FleetNamespace,
			"labels":    map[string]any{"env": "local"},
		},
		"spec": map[string]any{
			"kubeconfigRef": map[string]any{"name": kubeconfigSecretName(c), "key": "value"},
		},
	}}
}
