package managedfields

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// DefaultTools are the field managers of tools that act for people: what they add is a manual change. A trailing *
// stands for any ending; upper and lower case are alike. A client that names no manager gets one from its User-Agent,
// up to the first slash.
func DefaultTools() []string {
	return []string{
		// Command lines and terminals.
		"kubectl*", "oc", "oc-*", "helm", "helmfile", "k9s", "kustomize", "kapp", "kubie", "kubectx",
		// Dashboards and browsers.
		"dashboard*", "kubernetes-dashboard*", "headlamp*", "lens", "openlens", "freelens", "octant", "rancher", "portainer*", "aptakube",
		"Mozilla", "Opera",
		// Infrastructure as code.
		"Terraform*", "HashiCorp", "OpenTofu*", "pulumi*", "ansible*",
		// Generic API clients.
		"curl", "Wget", "HTTPie", "Go-http-client", "python-requests", "python-urllib*", "python-httpx", "OpenAPI-Generator", "Swagger-Codegen", "PostmanRuntime",
		"insomnia", "okhttp", "Java*", "Apache-HttpClient", "node-fetch", "axios", "undici", "PowerShell*", "fabric8-kubernetes-client", "unknown",
		// GitOps, and tools that deploy.
		"argocd*", "kustomize-controller", "helm-controller", "flux*", "gotk*", "fleet-agent", "fleetagent", "kapp-controller", "configsync*", "werf", "skaffold",
		"tilt", "devspace", "okteto",
		// What the API server makes of an object that had no managedFields.
		"before-first-apply",
	}
}

// tools are patterns of field managers.
type tools []string

// isTool says whether an entry is of a person's tool: a listed one, a client without any name, an Update in our
// own name, or another installation of Daytwo.
func (r Rules) isTool(entry *metav1.ManagedFieldsEntry) bool {
	manager := entry.Manager
	if manager == "" || manager == r.self || strings.HasPrefix(manager, metav1alpha1.FieldManager+"-") {
		return true
	}
	for _, pattern := range r.tools {
		if prefix, open := strings.CutSuffix(pattern, "*"); open && len(manager) >= len(prefix) && strings.EqualFold(manager[:len(prefix)], prefix) {
			return true
		}
		if strings.EqualFold(manager, pattern) {
			return true
		}
	}
	return false
}
