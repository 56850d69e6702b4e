package drdrill

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// exposure is what acts on the world outside of a drill.
type exposure struct {
	exposes backupv1alpha1.DrillExposure
	// group of the resources; one that begins with a dot stands for all that end so.
	group string
	// resources by their plural names; none for all of the group.
	resources []string
}

// exposures are left out of drills that do not ask for them.
var exposures = []exposure{
	{backupv1alpha1.ExposeIngresses, "networking.k8s.io", []string{"ingresses"}},
	{backupv1alpha1.ExposeIngresses, "extensions", []string{"ingresses"}},
	{backupv1alpha1.ExposeIngresses, "gateway.networking.k8s.io", nil},
	{backupv1alpha1.ExposeIngresses, "traefik.io", nil},
	{backupv1alpha1.ExposeIngresses, ".istio.io", nil},
	{backupv1alpha1.ExposeIngresses, "projectcontour.io", nil},
	{backupv1alpha1.ExposeNetworkPolicies, "networking.k8s.io", []string{"networkpolicies"}},
	{backupv1alpha1.ExposeNetworkPolicies, "policy.networking.k8s.io", nil},
	{backupv1alpha1.ExposeNetworkPolicies, "cilium.io", []string{"ciliumnetworkpolicies", "ciliumclusterwidenetworkpolicies"}},
	{backupv1alpha1.ExposeNetworkPolicies, ".projectcalico.org", []string{"networkpolicies", "globalnetworkpolicies"}},
	{backupv1alpha1.ExposeDNS, "externaldns.k8s.io", nil},
	{backupv1alpha1.ExposeDNS, "externaldns.nginx.org", nil},
	{backupv1alpha1.ExposeCertificates, "cert-manager.io", nil},
	{backupv1alpha1.ExposeCertificates, "acme.cert-manager.io", nil},
	{backupv1alpha1.ExposeGitOps, ".fluxcd.io", nil},
	{backupv1alpha1.ExposeGitOps, "argoproj.io", []string{"applications", "applicationsets", "appprojects"}},
	{backupv1alpha1.ExposeInfrastructure, ".crossplane.io", nil},
	// A volume may be the disk of the cluster that was backed up, which would go with the claim.
	{backupv1alpha1.ExposeInfrastructure, "", []string{"persistentvolumes"}},
	{backupv1alpha1.ExposeInfrastructure, "cluster.x-k8s.io", nil},
	{backupv1alpha1.ExposeInfrastructure, ".cluster.x-k8s.io", nil},
}

func (e exposure) covers(resource schema.GroupResource) bool {
	inGroup := resource.Group == e.group || strings.HasPrefix(e.group, ".") && strings.HasSuffix(resource.Group, e.group)
	return inGroup && (len(e.resources) == 0 || slices.Contains(e.resources, resource.Resource))
}

// leftOut are the resources of a backup that a drill does not restore, sorted.
func leftOut(archived []schema.GroupResource, asked []backupv1alpha1.DrillExposure) (names []string) {
	for _, resource := range archived {
		exposed := slices.ContainsFunc(exposures, func(e exposure) bool { return e.covers(resource) && !slices.Contains(asked, e.exposes) })
		if exposed {
			names = append(names, resource.String())
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// contain changes an object of an archive as the drill's modifiers change it on its way into the cluster. The modifiers of
// Velero say the same in its own words: see modifiers.
func contain(object *unstructured.Unstructured, asked []backupv1alpha1.DrillExposure) {
	switch object.GroupVersionKind().GroupKind() {
	case schema.GroupKind{Kind: "Service"}:
		if !slices.Contains(asked, backupv1alpha1.ExposeLoadBalancers) {
			containService(object)
		}
	case schema.GroupKind{Group: "batch", Kind: "CronJob"}:
		if !slices.Contains(asked, backupv1alpha1.ExposeCronJobs) {
			_ = unstructured.SetNestedField(object.Object, true, "spec", "suspend") // An object without a spec differs anyway.
		}
	}
}

// exposingFields of a Service say how it is reached from outside.
var exposingFields = []string{
	"externalIPs", "loadBalancerIP", "loadBalancerClass", "loadBalancerSourceRanges", "allocateLoadBalancerNodePorts",
	"externalTrafficPolicy", "healthCheckNodePort",
}

func containService(object *unstructured.Unstructured) {
	kind, _, _ := unstructured.NestedString(object.Object, "spec", "type")
	if kind == "LoadBalancer" || kind == "NodePort" {
		_ = unstructured.SetNestedField(object.Object, "ClusterIP", "spec", "type") // It has a spec, since that has a type.
	}
	for _, field := range exposingFields {
		unstructured.RemoveNestedField(object.Object, "spec", field)
	}
}

// modifiers are the rules by which Velero changes objects before it restores them, in the form of its resource modifiers.
func modifiers(asked []backupv1alpha1.DrillExposure) map[string]any {
	rules := []any{
		// What Daytwo or Helm took for its own in the cluster that was backed up is nobody's in this one.
		merge(map[string]any{"groupResource": "**"}, map[string]any{"metadata": map[string]any{"labels": nullOf(ownLabels)}}),
	}
	if !slices.Contains(asked, backupv1alpha1.ExposeLoadBalancers) {
		fields := nullOf(exposingFields)
		rules = append(rules, merge(map[string]any{"groupResource": "services"}, map[string]any{"spec": fields}))
		for _, kind := range []string{"LoadBalancer", "NodePort"} {
			rules = append(rules, merge(map[string]any{
				"groupResource": "services", "matches": []any{map[string]any{"path": "/spec/type", "value": kind}},
			}, map[string]any{"spec": map[string]any{"type": "ClusterIP"}}))
		}
		rules = append(rules, releasedPorts()...)
	}
	if !slices.Contains(asked, backupv1alpha1.ExposeCronJobs) {
		rules = append(rules, merge(map[string]any{"groupResource": "cronjobs.batch"}, map[string]any{"spec": map[string]any{"suspend": true}}))
	}
	return map[string]any{"version": "v1", "resourceModifierRules": rules}
}

// maxPorts is how many ports of a Service are released.
const maxPorts = 16

// releasedPorts are rules that take the ports of nodes from Services: Velero keeps those that a person wrote, which the
// Service has that was backed up. A patch of a port that is not there would be an error, so each is for Services that have
// one at that place; a port always has a protocol.
func releasedPorts() (rules []any) {
	for i := range maxPorts {
		for _, protocol := range []string{"TCP", "UDP", "SCTP"} {
			port := fmt.Sprintf("/spec/ports/%d", i)
			rules = append(rules, map[string]any{
				"conditions": map[string]any{
					"groupResource": "services", "matches": []any{map[string]any{"path": port + "/protocol", "value": protocol}},
				},
				"patches": []any{map[string]any{"operation": "add", "path": port + "/nodePort", "value": "0"}},
			})
		}
	}
	return rules
}

// ownLabels are those by which Daytwo knows what it has in a cluster.
var ownLabels = []string{metav1alpha1.LabelManagedBy, metav1alpha1.LabelHash, metav1alpha1.LabelAction}

func nullOf(names []string) map[string]any {
	nulls := map[string]any{}
	for _, name := range names {
		nulls[name] = nil
	}
	return nulls
}

// merge is a rule that merges a patch into the objects that conditions select.
func merge(conditions, patch map[string]any) map[string]any {
	body, _ := json.Marshal(patch) // Maps of strings, booleans and nulls can be marshaled.
	return map[string]any{"conditions": conditions, "mergePatches": []any{map[string]any{"patchData": string(body)}}}
}
