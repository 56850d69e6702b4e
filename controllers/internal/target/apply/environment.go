package apply

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// environments returns the Secrets and ConfigMaps of which pods take every key as an environment variable: what any
// object names in envFrom, pod templates in custom resources included.
func environments(list []Declaration) map[objects.Key]bool {
	found := map[objects.Key]bool{}
	for _, object := range list {
		collectEnvironments(object.Object, object.GetNamespace(), found)
	}
	return found
}

func collectEnvironments(in any, namespace string, found map[objects.Key]bool) {
	switch typed := in.(type) {
	case map[string]any:
		for name, value := range typed {
			if sources, ok := value.([]any); ok && name == "envFrom" {
				collectSources(sources, namespace, found)
				continue
			}
			collectEnvironments(value, namespace, found)
		}
	case []any:
		for _, item := range typed {
			collectEnvironments(item, namespace, found)
		}
	}
}

func collectSources(sources []any, namespace string, found map[objects.Key]bool) {
	for _, source := range sources {
		one, _ := source.(map[string]any)
		for field, kind := range map[string]string{"secretRef": "Secret", "configMapRef": "ConfigMap"} {
			if name, _, _ := unstructured.NestedString(one, field, "name"); name != "" {
				key := objects.Key{Namespace: namespace, Name: name}
				key.Kind = kind
				found[key] = true
			}
		}
	}
}
