package objects

import (
	"encoding/json"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/go-openapi/jsonpointer"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// LabelTool is what many manifests call the tool by that manages an object. Those that were made from a chart
// (`helm template`) say Helm there, whoever applies them.
const LabelTool = "app.kubernetes.io/managed-by"

// ToolHelm is the value of LabelTool that charts set.
const ToolHelm = "Helm"

// HelmRelease is a release of Helm whose name the object does not tell.
const HelmRelease = "a Helm release"

// Claim is whose an object is, by the marks on it. The zero Claim is nobody's.
type Claim struct {
	// Owner, as people call it.
	Owner string
	// ByTool: the owner is a tool that people run, and [RemoveMarks] ends its claim. A controller would go on writing, and so would
	// another installation of Daytwo.
	ByTool bool
}

// The places of marks.
const (
	inLabels      = "labels"
	inAnnotations = "annotations"
)

// marks are what the tools of this field leave on what they manage: the label or annotation that names the owner, one that names
// its namespace, and those that go with it. Argo CD marks by a label or an annotation, older versions of Sveltos by labels.
var marks = []struct {
	in, name, namespace string
	owner               string
	beside              []string
}{
	{in: inAnnotations, name: "meta.helm.sh/release-name", namespace: "meta.helm.sh/release-namespace", owner: "Helm release"},
	{in: inLabels, name: "helm.toolkit.fluxcd.io/name", namespace: "helm.toolkit.fluxcd.io/namespace", owner: "Flux HelmRelease"},
	{in: inLabels, name: "kustomize.toolkit.fluxcd.io/name", namespace: "kustomize.toolkit.fluxcd.io/namespace", owner: "Flux Kustomization"},
	{in: inAnnotations, name: "argocd.argoproj.io/tracking-id", owner: "Argo CD application"},
	{in: inLabels, name: "argocd.argoproj.io/instance", owner: "Argo CD application"},
	{
		in: inAnnotations, name: "objectset.rio.cattle.io/owner-name", namespace: "objectset.rio.cattle.io/owner-namespace", owner: "Rancher Fleet bundle",
		beside: []string{
			"objectset.rio.cattle.io/applied", "objectset.rio.cattle.io/id", "objectset.rio.cattle.io/owner-gvk", "objectset.rio.cattle.io/hash",
		},
	},
	{
		in: inAnnotations, name: "projectsveltos.io/owner-name", owner: "Sveltos profile",
		beside: []string{
			"projectsveltos.io/owner-kind", "projectsveltos.io/owner-tier", "projectsveltos.io/hash",
			"projectsveltos.io/reference-kind", "projectsveltos.io/reference-name", "projectsveltos.io/reference-namespace",
		},
	},
	{
		in: inLabels, name: "projectsveltos.io/reference-name", namespace: "projectsveltos.io/reference-namespace", owner: "Sveltos, from",
		beside: []string{"projectsveltos.io/reference-kind"},
	},
	{in: inAnnotations, name: "resources.gardener.cloud/origin", owner: "Gardener ManagedResource", beside: []string{"resources.gardener.cloud/description"}},
}

// ClaimOf says whose an object is beside this installation's. LabelTool alone does not tell of Helm where our own label is: Helm
// itself names the release, too.
func ClaimOf(object metav1.Object, installation string) Claim {
	if controller := metav1.GetControllerOf(object); controller != nil {
		return Claim{Owner: controller.Kind + " " + controller.Name}
	}
	labels := object.GetLabels()
	if other := labels[metav1alpha1.LabelManagedBy]; other != "" && other != installation {
		return Claim{Owner: "another installation of Daytwo (" + other + ")"}
	}
	for _, mark := range marks {
		there := marked(object, mark.in)
		if name := there[mark.name]; name != "" {
			return Claim{Owner: mark.owner + " " + strings.TrimPrefix(there[mark.namespace]+"/"+name, "/"), ByTool: true}
		}
	}
	if labels[LabelTool] == ToolHelm && labels[metav1alpha1.LabelManagedBy] == "" {
		return Claim{Owner: HelmRelease, ByTool: true}
	}
	return Claim{}
}

// RemoveMarks returns a JSON patch that takes the marks of all tools off an object; nil if it has none. LabelTool stays: it says
// nothing where our own label is.
func RemoveMarks(object metav1.Object) []byte {
	type operation struct {
		Op   string `json:"op"`
		Path string `json:"path"`
	}
	var operations []operation
	for _, mark := range marks {
		there := marked(object, mark.in)
		for _, name := range append([]string{mark.name, mark.namespace}, mark.beside...) {
			if _, is := there[name]; is {
				operations = append(operations, operation{Op: "remove", Path: MetadataPointer(mark.in, name)})
			}
		}
	}
	if len(operations) == 0 {
		return nil
	}
	patch, err := json.Marshal(operations)
	if err != nil {
		// Strings always marshal.
		panic(err)
	}
	return patch
}

// MetadataPointer is the JSON pointer of one of the "labels" or "annotations" of an object.
func MetadataPointer(where, name string) string {
	return "/metadata/" + where + "/" + jsonpointer.Escape(name)
}

func marked(object metav1.Object, in string) map[string]string {
	if in == inLabels {
		return object.GetLabels()
	}
	return object.GetAnnotations()
}
