package recovery

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// addresses are those that Services have, with a name each.
const addresses = "ipaddresses.networking.k8s.io"

// Excluded are resources that a restore leaves out, whatever it is for: another cluster gives its Services addresses of its own,
// and one that is taken from an archive would be taken from those.
func Excluded() []string { return []string{addresses} }

// notRestored are resources that Velero 1.18 never restores (pkg/controller/restore_controller.go), and those that a cluster
// or a program in it makes again by itself.
var notRestored = []struct {
	reason    string
	resources []string
}{
	{"belongs to the cluster in which it was", []string{"nodes", "csinodes.storage.k8s.io", "volumeattachments.storage.k8s.io"}},
	{"tells what happened, and is not restored", []string{"events", "events.events.k8s.io"}},
	{"is Velero's own", []string{"backups.velero.io", "restores.velero.io", "resticrepositories.velero.io", "backuprepositories.velero.io"}},
	{"is made again from Services", []string{"endpoints", "endpointslices.discovery.k8s.io", addresses}},
	{"says who leads now", []string{"leases.coordination.k8s.io"}},
}

// IsRestored is whether Velero restores an object, whatever a Restore says; if not, why.
func IsRestored(item Item, object *unstructured.Unstructured) (restored bool, reason string) {
	for _, one := range notRestored {
		if slices.Contains(one.resources, item.Resource.String()) {
			return false, one.reason
		}
	}
	phase, _, _ := unstructured.NestedString(object.Object, "status", "phase")
	completed, _, _ := unstructured.NestedString(object.Object, "status", "completionTime")
	switch item.Resource {
	case schema.GroupResource{Resource: "pods"}:
		if phase == "Succeeded" || phase == "Failed" {
			return false, "had ended"
		}
		if _, mirror := object.GetAnnotations()["kubernetes.io/config.mirror"]; mirror {
			return false, "stands for a static pod of a node"
		}
	case schema.GroupResource{Group: "batch", Resource: "jobs"}:
		if completed != "" {
			return false, "had ended"
		}
	case schema.GroupResource{Resource: "configmaps"}:
		if item.Name == "kube-root-ca.crt" {
			return false, "is in every namespace by itself"
		}
	}
	return true, ""
}

// IsBuiltIn is whether an object without a namespace is in every cluster by itself, and is kept there by the cluster's own API
// server: the default roles (rbac-defaults), the suggested FlowSchemas (api-priority-and-fairness), the APIServices of kinds,
// the system's PriorityClasses, and what Velero was installed with.
func IsBuiltIn(item Item, object *unstructured.Unstructured) bool {
	labels, annotations := object.GetLabels(), object.GetAnnotations()
	_, isAutomatic := labels["kube-aggregator.kubernetes.io/automanaged"]
	switch item.Resource.Group {
	case "rbac.authorization.k8s.io":
		return labels["kubernetes.io/bootstrapping"] == "rbac-defaults"
	case "flowcontrol.apiserver.k8s.io":
		return annotations["apf.kubernetes.io/autoupdate-spec"] == "true"
	case "apiregistration.k8s.io":
		return isAutomatic
	case "networking.k8s.io":
		return item.Resource.Resource == "servicecidrs" && item.Name == "kubernetes"
	case "scheduling.k8s.io":
		return strings.HasPrefix(item.Name, "system-")
	case "apiextensions.k8s.io":
		return strings.HasSuffix(item.Name, ".velero.io")
	}
	return false
}
