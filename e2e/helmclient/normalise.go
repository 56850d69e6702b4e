package helmclient

import (
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// normalised returns an object's id, and the object without what no other run could have.
func normalised(object *unstructured.Unstructured) (string, Object, error) {
	id := strings.Join([]string{object.GetAPIVersion(), object.GetKind(), object.GetNamespace(), object.GetName()}, "/")
	content := object.DeepCopy().Object
	delete(content, "status")
	if metadata, ok := content["metadata"].(map[string]any); ok {
		withoutVolatile(metadata)
	}
	if remove, ok := assigned[object.GetKind()]; ok {
		remove(content)
	}
	if !isRecord(object) {
		return id, Object{Content: content}, nil
	}
	record, err := decode(object)
	if err != nil {
		return id, Object{}, fmt.Errorf("read the release record %s: %w", id, err)
	}
	withoutData(content)
	return id, Object{Content: content, Record: record}, nil
}

// withoutVolatile leaves only that there is a deletion, and who the owners are.
func withoutVolatile(metadata map[string]any) {
	for _, field := range []string{
		"uid", "resourceVersion", "creationTimestamp", "managedFields", "generation", "selfLink", "deletionGracePeriodSeconds",
	} {
		delete(metadata, field)
	}
	if _, deleted := metadata["deletionTimestamp"]; deleted {
		metadata["deletionTimestamp"] = "is set"
	}
	if owners, ok := metadata["ownerReferences"].([]any); ok {
		for _, owner := range owners {
			if owner, ok := owner.(map[string]any); ok {
				delete(owner, "uid")
			}
		}
	}
	withoutKeys(metadata, "labels")
	withoutKeys(metadata, "annotations")
}

// prefixes of labels and annotations that controllers keep for themselves.
var prefixes = []string{
	"daytwo.dev", "deployment.kubernetes.io", "pv.kubernetes.io", "volume.kubernetes.io", "volume.beta.kubernetes.io",
}

// withoutKeys drops controllers' own labels or annotations, and the map if nothing is left.
func withoutKeys(metadata map[string]any, field string) {
	keys, ok := metadata[field].(map[string]any)
	if !ok {
		return
	}
	maps.DeleteFunc(keys, func(key string, _ any) bool { return isOfController(key) })
	if len(keys) == 0 {
		delete(metadata, field)
	}
}

func isOfController(key string) bool {
	if strings.HasSuffix(key, "controller-uid") { // A Job's pods are selected by it.
		return true
	}
	prefix, _, prefixed := strings.Cut(key, "/")
	for _, known := range prefixes {
		if prefixed && (prefix == known || strings.HasSuffix(prefix, "."+known)) {
			return true
		}
	}
	return false
}

// assigned drop what the cluster chose for an object of a kind.
var assigned = map[string]func(content map[string]any){
	"Service":               withoutAddresses,
	"Job":                   withoutJobSelector,
	"Pod":                   withoutPlacement,
	"PersistentVolumeClaim": func(content map[string]any) { unstructured.RemoveNestedField(content, "spec", "volumeName") },
}

// withoutAddresses keeps that a Service is headless, which somebody chose.
func withoutAddresses(content map[string]any) {
	spec, _ := content["spec"].(map[string]any)
	if spec["clusterIP"] != "None" {
		delete(spec, "clusterIP")
		delete(spec, "clusterIPs")
	}
	delete(spec, "healthCheckNodePort")
	for _, port := range maplist(spec["ports"]) {
		delete(port, "nodePort")
	}
}

func withoutJobSelector(content map[string]any) {
	unstructured.RemoveNestedField(content, "spec", "selector")
	metadata, found, err := unstructured.NestedFieldNoCopy(content, "spec", "template", "metadata")
	if metadata, ok := metadata.(map[string]any); ok && found && err == nil {
		withoutVolatile(metadata)
	}
}

// withoutPlacement drops a pod's node, and the volume of its token, whose name is random.
func withoutPlacement(content map[string]any) {
	spec, _ := content["spec"].(map[string]any)
	delete(spec, "nodeName")
	withoutTokens(spec, "volumes")
	for _, containers := range []string{"containers", "initContainers"} {
		for _, container := range maplist(spec[containers]) {
			withoutTokens(container, "volumeMounts")
		}
	}
}

func withoutTokens(parent map[string]any, field string) {
	var kept []any
	for _, item := range maplist(parent[field]) {
		if name, _ := item["name"].(string); !strings.HasPrefix(name, "kube-api-access-") {
			kept = append(kept, item)
		}
	}
	if kept == nil {
		delete(parent, field)
		return
	}
	parent[field] = kept
}

func maplist(value any) []map[string]any {
	items, _ := value.([]any)
	var maps []map[string]any
	for _, item := range items {
		if item, ok := item.(map[string]any); ok {
			maps = append(maps, item)
		}
	}
	return maps
}
