package recovery

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Mapping says into which namespaces the objects of an archive are restored. Those of others keep theirs.
type Mapping map[string]string

func (m Mapping) of(namespace string) string {
	if mapped, ok := m[namespace]; ok {
		return mapped
	}
	return namespace
}

// ArchivedDigest is the SHA-256, in hex, of what a restore is to bring back of an object of an archive. RestoredDigest is
// that of an object in a cluster. They are equal if it did, apart from fields that the cluster alone has.
func ArchivedDigest(object *unstructured.Unstructured, mapping Mapping) string {
	return digest(archivedForm(object, mapping))
}

// RestoredDigest is described at ArchivedDigest.
func RestoredDigest(object *unstructured.Unstructured) string { return digest(canonical(object)) }

func digest(form map[string]any) string {
	body, _ := json.Marshal(form) // What was decoded from JSON can be marshaled. Keys are sorted.
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// archivedForm is the canonical form that an object of an archive has after its restore.
func archivedForm(object *unstructured.Unstructured, mapping Mapping) map[string]any {
	form := canonical(object)
	metadata, _ := form["metadata"].(map[string]any)
	if namespace := object.GetNamespace(); namespace != "" {
		metadata["namespace"] = mapping.of(namespace)
	}
	if object.GroupVersionKind().GroupKind() == roleBinding {
		mapSubjects(form, mapping)
	}
	return form
}

// mapSubjects does what Velero does: a RoleBinding in a namespace that is mapped binds those of the new ones.
func mapSubjects(form map[string]any, mapping Mapping) {
	subjects, _ := form["subjects"].([]any)
	for _, one := range subjects {
		subject, ok := one.(map[string]any)
		if namespace, has := subject["namespace"].(string); ok && has {
			subject["namespace"] = mapping.of(namespace)
		}
	}
}

// Kinds that have rules of their own.
var (
	service               = schema.GroupKind{Kind: "Service"}
	persistentVolumeClaim = schema.GroupKind{Kind: "PersistentVolumeClaim"}
	pod                   = schema.GroupKind{Kind: "Pod"}
	serviceAccount        = schema.GroupKind{Kind: "ServiceAccount"}
	secret                = schema.GroupKind{Kind: "Secret"}
	job                   = schema.GroupKind{Group: "batch", Kind: "Job"}
	roleBinding           = schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}
)

// generated are fields that a cluster fills by itself, and Velero's restore empties.
var generated = map[schema.GroupKind][][]string{
	persistentVolumeClaim: {{"spec", "volumeName"}},
	pod:                   {{"spec", "nodeName"}, {"spec", "priority"}},
	serviceAccount:        {{"secrets"}},
	job: {
		{"spec", "selector", "matchLabels", "controller-uid"}, {"spec", "selector", "matchLabels", "batch.kubernetes.io/controller-uid"},
		{"spec", "template", "metadata", "labels", "controller-uid"}, {"spec", "template", "metadata", "labels", "batch.kubernetes.io/controller-uid"},
	},
	service: {{"spec", "healthCheckNodePort"}},
}

// managed are labels and annotations that programs keep for themselves, by prefix where they end in a slash: Velero, Daytwo,
// and the controllers of Kubernetes.
var managed = []string{
	"velero.io/", "backup.velero.io/", "daytwo.dev/", "controller-uid", "batch.kubernetes.io/controller-uid", "deployment.kubernetes.io/",
	"deprecated.daemonset.template.generation", "pv.kubernetes.io/", "volume.kubernetes.io/", "volume.beta.kubernetes.io/",
	"kubernetes.io/service-account.uid", "control-plane.alpha.kubernetes.io/", "endpoints.kubernetes.io/", "autoscaling.alpha.kubernetes.io/",
}

// canonical is what an object says that a restore is to bring back: everything but its status, and what a cluster or a
// program adds by itself. The object stays as it is.
func canonical(object *unstructured.Unstructured) map[string]any {
	form := runtime.DeepCopyJSON(object.Object)
	delete(form, "status")
	kind := object.GroupVersionKind().GroupKind()
	for _, field := range generated[kind] {
		unstructured.RemoveNestedField(form, field...)
	}
	switch kind {
	case service:
		cleanService(form)
	case secret:
		cleanToken(form)
	}
	form["metadata"] = map[string]any{
		"name": object.GetName(), "namespace": object.GetNamespace(),
		"labels": unmanaged(object.GetLabels()), "annotations": unmanaged(object.GetAnnotations()),
	}
	return pruned(form).(map[string]any)
}

func unmanaged(values map[string]string) map[string]any {
	kept := map[string]any{}
	for name, value := range values {
		isManaged := slices.ContainsFunc(managed, func(one string) bool {
			return name == one || strings.HasSuffix(one, "/") && strings.HasPrefix(name, one)
		})
		if !isManaged {
			kept[name] = value
		}
	}
	return kept
}

// cleanService takes away the addresses and ports that a cluster gives a Service. A headless one has none to give.
func cleanService(form map[string]any) {
	spec, _ := form["spec"].(map[string]any)
	if address, _ := spec["clusterIP"].(string); address != "None" {
		delete(spec, "clusterIP")
		delete(spec, "clusterIPs")
	}
	ports, _ := spec["ports"].([]any)
	for _, one := range ports {
		if port, ok := one.(map[string]any); ok {
			delete(port, "nodePort")
		}
	}
}

// cleanToken takes away what a cluster writes into the Secret of a ServiceAccount.
func cleanToken(form map[string]any) {
	if kind, _ := form["type"].(string); kind != "kubernetes.io/service-account-token" {
		return
	}
	data, _ := form["data"].(map[string]any)
	for _, key := range []string{"token", "ca.crt", "namespace"} {
		delete(data, key)
	}
}

// pruned is a value without empty ones inside: a decoder in Go writes them, and one in a cluster does not.
func pruned(value any) any {
	switch value := value.(type) {
	case map[string]any:
		maps.DeleteFunc(value, func(key string, inner any) bool {
			value[key] = pruned(inner)
			return isEmpty(value[key])
		})
	case []any:
		for i := range value {
			value[i] = pruned(value[i])
		}
	}
	return value
}

func isEmpty(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case map[string]any:
		return len(value) == 0
	case []any:
		return len(value) == 0
	case string:
		return value == ""
	}
	return false
}
