package coverage

import (
	"path"
	"slices"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// maxPatterns is how many namespaces a template names on each side: more than the API of a policy has room for.
const maxPatterns = 300

// neverRestored are resources of which a backup is of no use, since Velero restores none (its package pkg/restore, 1.18).
var neverRestored = []string{"events", "events.events.k8s.io", "nodes", "csinodes.storage.k8s.io", "volumeattachments.storage.k8s.io"}

// Filter is which namespaces a Schedule backs up.
type Filter struct {
	included, excluded []string
	// partial is the field of the template by which some objects of these namespaces are left out; empty for none.
	partial string
}

// filterOf a Schedule; false if it cannot be read. Whoever has rights in the cluster may have written it.
func filterOf(schedule *unstructured.Unstructured) (Filter, bool) {
	if schedule == nil {
		return Filter{}, false
	}
	var template velerov1.BackupSpec
	found, _, _ := unstructured.NestedFieldNoCopy(schedule.Object, "spec", "template")
	content, ok := found.(map[string]any)
	if !ok || runtime.DefaultUnstructuredConverter.FromUnstructured(content, &template) != nil {
		return Filter{}, false
	}
	if len(template.IncludedNamespaces) > maxPatterns || len(template.ExcludedNamespaces) > maxPatterns {
		return Filter{}, false
	}
	return Filter{included: template.IncludedNamespaces, excluded: template.ExcludedNamespaces, partial: partialBy(template)}, true
}

// partialBy is the first field of a template that leaves objects out; empty for none.
func partialBy(template velerov1.BackupSpec) string {
	const all = "*"
	isNamed := func(name string) bool { return name != all }
	isMissed := func(name string) bool { return !slices.Contains(neverRestored, name) }
	switch {
	case template.LabelSelector != nil && len(template.LabelSelector.MatchLabels)+len(template.LabelSelector.MatchExpressions) > 0:
		return "labelSelector"
	case len(template.OrLabelSelectors) > 0:
		return "orLabelSelectors"
	case slices.ContainsFunc(template.IncludedResources, isNamed):
		return "includedResources"
	case slices.ContainsFunc(template.ExcludedResources, isMissed):
		return "excludedResources"
	}
	return ""
}

// covers is whether the filter takes a namespace in. A pattern is one of Velero's, such as "team-*".
func (f Filter) covers(namespace string) bool {
	matches := func(pattern string) bool {
		found, err := path.Match(pattern, namespace)
		return err == nil && found
	}
	return !slices.ContainsFunc(f.excluded, matches) && (len(f.included) == 0 || slices.ContainsFunc(f.included, matches))
}

// FiltersOf are those of a policy's own Schedule, and of those of other policies, which are known by their names. Read is false
// if its own cannot be read.
func FiltersOf(own *unstructured.Unstructured, schedules []*unstructured.Unstructured, others []string) (filters []Filter, read bool) {
	first, read := filterOf(own)
	filters = append(filters, first)
	for _, schedule := range schedules {
		if !slices.Contains(others, schedule.GetName()) || schedule.GetDeletionTimestamp() != nil {
			continue
		}
		if other, ok := filterOf(schedule); ok {
			filters = append(filters, other)
		}
	}
	return filters, read
}
