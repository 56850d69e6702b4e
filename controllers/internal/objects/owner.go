package objects

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// LabelTool is what many manifests call the tool by that manages an object. Those that were made from a chart
// (`helm template`) say Helm there, whoever applies them.
const LabelTool = "app.kubernetes.io/managed-by"

// ToolHelm is the value of LabelTool that charts set.
const ToolHelm = "Helm"

// HelmRelease is a release of Helm whose name the object does not tell.
const HelmRelease = "a Helm release"

// ClaimedBy says who else an object belongs to, by the marks that the tools of this field leave on
// what they manage; empty for nobody. LabelTool alone does not tell of Helm where our own label is: Helm itself
// names the release, too.
func ClaimedBy(object metav1.Object, installation string) string {
	labels, annotations := object.GetLabels(), object.GetAnnotations()
	if controller := metav1.GetControllerOf(object); controller != nil {
		return controller.Kind + " " + controller.Name
	}
	if other := labels[metav1alpha1.LabelManagedBy]; other != "" && other != installation {
		return "another installation of Daytwo (" + other + ")"
	}
	for _, mark := range []struct {
		in        map[string]string
		namespace string
		name      string
		owner     string
	}{
		{annotations, "meta.helm.sh/release-namespace", "meta.helm.sh/release-name", "Helm release"},
		{labels, "helm.toolkit.fluxcd.io/namespace", "helm.toolkit.fluxcd.io/name", "Flux HelmRelease"},
		{labels, "kustomize.toolkit.fluxcd.io/namespace", "kustomize.toolkit.fluxcd.io/name", "Flux Kustomization"},
		{annotations, "", "argocd.argoproj.io/tracking-id", "Argo CD application"},
		{annotations, "objectset.rio.cattle.io/owner-namespace", "objectset.rio.cattle.io/owner-name", "Rancher Fleet bundle"},
	} {
		if name := mark.in[mark.name]; name != "" {
			return mark.owner + " " + strings.TrimPrefix(mark.in[mark.namespace]+"/"+name, "/")
		}
	}
	if labels[LabelTool] == ToolHelm && labels[metav1alpha1.LabelManagedBy] == "" {
		return HelmRelease
	}
	return ""
}
