package manifest

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/daytwo-dev/daytwo/controllers/internal/truncate"
)

// reservedLabels starts the labels that only Daytwo sets on objects in workload clusters.
const reservedLabels = "daytwo.dev/"

// How long names may be, in bytes: those of objects and groups (RFC 1123 subdomains), and those of namespaces, kinds and
// versions (labels). The inventory of a target is sure to take what is made of them.
const maxName, maxLabel = validation.DNS1123SubdomainMaxLength, validation.DNS1123LabelMaxLength

// objectKey is what makes two manifests the same object, whatever their version.
type objectKey struct {
	group, kind, namespace, name string
}

// checkIdentity returns which object a manifest describes.
func checkIdentity(where string, object map[string]any) (objectKey, *Error) {
	apiVersion, isString := object["apiVersion"].(string)
	groupVersion, err := schema.ParseGroupVersion(apiVersion)
	if !isString || err != nil || groupVersion.Version == "" {
		return objectKey{}, InvalidManifestf(`%s: apiVersion is missing or not of the form "v1" or "group/version"`, where)
	}
	kind, _ := object["kind"].(string)
	if kind == "" {
		return objectKey{}, InvalidManifestf("%s: kind is missing or not a string", where)
	}
	where = fmt.Sprintf("%s (%s)", where, kind)
	metadata, isObject := object["metadata"].(map[string]any)
	if !isObject {
		return objectKey{}, InvalidManifestf("%s: metadata is missing or not an object", where)
	}
	if metadata["generateName"] != nil {
		return objectKey{}, InvalidManifestf("%s: metadata.generateName would make another object on every try: set metadata.name", where)
	}
	name, _ := metadata["name"].(string)
	if name == "" {
		return objectKey{}, InvalidManifestf("%s: metadata.name is missing or not a string (quote numbers and words like on, yes and n)", where)
	}
	namespace, isString := metadata["namespace"].(string)
	if !isString && metadata["namespace"] != nil {
		return objectKey{}, InvalidManifestf("%s: metadata.namespace of %q is not a string (quote numbers and words like on, yes and n)", where, name)
	}
	for _, part := range []struct {
		field, text string
		most        int
	}{
		{"apiVersion", groupVersion.Group, maxName}, {"apiVersion", groupVersion.Version, maxLabel}, {"kind", kind, maxLabel},
		{"metadata.namespace", namespace, maxLabel}, {"metadata.name", name, maxName},
	} {
		if len(part.text) > part.most {
			return objectKey{}, InvalidManifestf("%s: %s has %d bytes, and Kubernetes takes at most %d", truncate.Cut(where, maxName), part.field, len(part.text), part.most)
		}
	}
	return objectKey{groupVersion.Group, kind, namespace, name}, nil
}

// clean checks what Daytwo relies on and takes away what is not a manifest's to say. checkIdentity
// has passed.
func clean(where string, object map[string]any) *Error {
	metadata := object["metadata"].(map[string]any)
	for _, field := range []string{"labels", "annotations"} {
		if failure := checkStrings(where, "metadata."+field, metadata[field]); failure != nil {
			return failure
		}
	}
	labels, _ := metadata["labels"].(map[string]any)
	for _, label := range slices.Sorted(maps.Keys(labels)) {
		if strings.HasPrefix(label, reservedLabels) {
			return InvalidManifestf("%s: the label %s is Daytwo's own: remove it", where, label)
		}
	}
	dropServerFields(object)
	return moveStringData(where, object)
}

// checkStrings refuses what is not a dictionary of strings. A missing one is fine.
func checkStrings(where, field string, value any) *Error {
	if value == nil {
		return nil
	}
	dictionary, isObject := value.(map[string]any)
	if !isObject {
		return InvalidManifestf("%s: %s is not a dictionary", where, field)
	}
	for _, key := range slices.Sorted(maps.Keys(dictionary)) {
		if _, isString := dictionary[key].(string); !isString {
			return InvalidManifestf("%s: %s[%s] is not a string: quote it, as numbers and words like true, yes and n have to be", where, field, key)
		}
	}
	return nil
}

// dropServerFields takes away what the API server writes, as it is in manifests that were read
// from a cluster. Applied, it would be ignored or refused.
func dropServerFields(object map[string]any) {
	delete(object, "status")
	metadata := object["metadata"].(map[string]any)
	for _, field := range []string{
		"managedFields", "resourceVersion", "uid", "creationTimestamp", "generation",
		"deletionTimestamp", "deletionGracePeriodSeconds", "selfLink",
	} {
		delete(metadata, field)
	}
}

// moveStringData turns a Secret's stringData into data, which it overrides as it does in the API
// server. Applied as such it would be kept in managedFields under a name that the object does
// not have, and removing a key later would not remove it.
func moveStringData(where string, object map[string]any) *Error {
	if object["apiVersion"] != "v1" || object["kind"] != "Secret" {
		return nil
	}
	if failure := checkStrings(where, "stringData", object["stringData"]); failure != nil {
		return failure
	}
	plain, _ := object["stringData"].(map[string]any)
	delete(object, "stringData")
	if len(plain) == 0 {
		return nil
	}
	data, isObject := object["data"].(map[string]any)
	if !isObject && object["data"] != nil {
		return InvalidManifestf("%s: data is not a dictionary", where)
	}
	if data == nil {
		data = make(map[string]any, len(plain))
	}
	for key, value := range plain {
		data[key] = base64.StdEncoding.EncodeToString([]byte(value.(string)))
	}
	object["data"] = data
	return nil
}
