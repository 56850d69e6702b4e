package veleroobjects

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/backupcontent"
)

// policiesReference is the only kind that Velero takes resource policies from, as it writes it.
const policiesReference = "configmap"

// policiesObject is the ConfigMap with the resource policies. Velero refuses one with several keys.
func policiesObject(policies backupv1alpha1.ResourcePolicies, arranged *backupv1alpha1.VeleroObjects) (*unstructured.Unstructured, error) {
	file, err := backupcontent.ResourcePoliciesFile(policies)
	if err != nil {
		return nil, err
	}
	return newObject(arranged, schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, map[string]any{
		"data": map[string]any{"policies.yaml": file},
	}), nil
}
