package managedfields

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// place says what an addition there can do.
type place int

const (
	// sensitive: it runs, grants or selects something, or may; every place that is not listed.
	sensitive place = iota
	// harmless: a program may add there, a person may not.
	harmless
	// open: whoever adds there may.
	open
)

// placeOf finds the place of a field that the manifest does not declare.
func placeOf(s Subject, path fieldpath.Path) place {
	names := leadingNames(path)
	switch {
	case len(names) == 0:
		return sensitive
	case names[0] == "status":
		return harmless
	case len(names) > 1 && names[0] == "metadata":
		return placeInMetadata(s.Kind, names[1:])
	case isContent(s.Kind, names[0]) && !s.Environment:
		return harmless
	case isCABundle(s, path):
		return open
	}
	return sensitive
}

// leadingNames are the names of the fields up to the first item of a list.
func leadingNames(path fieldpath.Path) []string {
	var names []string
	for _, element := range path {
		if element.FieldName == nil {
			break
		}
		names = append(names, *element.FieldName)
	}
	return names
}

// isContent: keys of Secrets and ConfigMaps are read by name.
func isContent(kind schema.GroupKind, field string) bool {
	return kind.Group == "" && (kind.Kind == "Secret" || kind.Kind == "ConfigMap") && (field == "data" || field == "binaryData")
}

// bundles is where kinds that the API server calls back have the CA that it trusts. A chart leaves it to its own
// programs, often to a hook Job that runs kubectl.
var bundles = map[schema.GroupKind][]string{
	{Group: "admissionregistration.k8s.io", Kind: "MutatingWebhookConfiguration"}:   {"webhooks", "*", "clientConfig", "caBundle"},
	{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"}: {"webhooks", "*", "clientConfig", "caBundle"},
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:               {"spec", "conversion", "webhook", "clientConfig", "caBundle"},
	{Group: "apiregistration.k8s.io", Kind: "APIService"}:                           {"spec", "caBundle"},
}

func isCABundle(s Subject, path fieldpath.Path) bool {
	pattern, has := bundles[s.Kind]
	return has && s.matches(path, pattern)
}

func placeInMetadata(kind schema.GroupKind, names []string) place {
	switch names[0] {
	case "finalizers", "ownerReferences":
		return harmless // To take a program's back leaks load balancers and databases.
	case "labels", "annotations":
		if isSelected(kind) || len(names) > 1 && isSensitiveKey(names[1]) {
			return sensitive
		}
		return harmless
	}
	return sensitive
}

// selectedKinds are those of the core group that are selected by their labels, or configured by their annotations.
var selectedKinds = []string{
	"Namespace", "Node", "PersistentVolume", "Pod", "PodTemplate", "ReplicationController", "Service", "ServiceAccount",
}

// isSelected says whether labels and annotations of a kind run, grant or select something, whatever their keys.
func isSelected(kind schema.GroupKind) bool {
	switch kind.Group {
	case "":
		return slices.Contains(selectedKinds, kind.Kind)
	case "apps":
		return kind.Kind == "ReplicaSet" // A Deployment adopts it by its labels.
	case "rbac.authorization.k8s.io", "gateway.networking.k8s.io":
		return true
	}
	return strings.HasPrefix(kind.Kind, "Ingress") || strings.HasSuffix(kind.Kind, "Gateway") || strings.HasSuffix(kind.Kind, "Route")
}

// sensitiveDomains are those of labels and annotations that Kubernetes, clouds, tools that deploy and tools that copy
// Secrets act upon: aggregation, pod security, identities, owners.
var sensitiveDomains = []string{
	"kubernetes.io", "k8s.io", "helm.sh", "daytwo.dev", "fluxcd.io", "argoproj.io", "cattle.io",
	"amazonaws.com", "gke.io", "cloud.google.com", "azure.com", "azure.workload.identity", "alibabacloud.com", "oraclecloud.com",
	"appscode.com", "emberstack.com", "mittwald.de",
}

// sensitiveWords are in keys that bring configuration or containers in.
var sensitiveWords = []string{"snippet", "inject"}

func isSensitiveKey(key string) bool {
	domain, _, _ := strings.Cut(strings.ToLower(key), "/")
	for _, sensitive := range sensitiveDomains {
		if domain == sensitive || strings.HasSuffix(domain, "."+sensitive) {
			return true
		}
	}
	return slices.ContainsFunc(sensitiveWords, func(word string) bool { return strings.Contains(strings.ToLower(key), word) })
}
