package apply

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// isExternal says whether an object stands for something outside of its cluster, which would outlive it.
// Of kinds that are not Kubernetes' own nobody can know, so they count.
func isExternal(object *unstructured.Unstructured) bool {
	kind := object.GroupVersionKind()
	switch kind.GroupKind().String() {
	case "Service":
		serviceType, _, _ := unstructured.NestedString(object.Object, "spec", "type")
		return serviceType == "LoadBalancer"
	case "PersistentVolumeClaim", "PersistentVolume", "Ingress.networking.k8s.io":
		return true
	case "StatefulSet.apps":
		claims, _, _ := unstructured.NestedSlice(object.Object, "spec", "volumeClaimTemplates")
		return len(claims) > 0
	}
	switch kind.Group {
	case "gateway.networking.k8s.io", "snapshot.storage.k8s.io":
		return true
	}
	return strings.Contains(kind.Group, ".") && !strings.HasSuffix(kind.Group, ".k8s.io")
}
