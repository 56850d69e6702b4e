package topology

import (
	"strings"
	"testing"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
)

func TestAnOrderIsCheckedBeforeAnybodyIsAsked(t *testing.T) {
	set := func(key string) map[string]string { return map[string]string{key: "yes"} }
	for name, test := range map[string]struct {
		change func(*tenancyv1alpha1.TenantCluster)
		reason string
		field  string
		says   string
	}{
		"as it is":                {func(*tenancyv1alpha1.TenantCluster) {}, "", "", ""},
		"the default class":       {func(c *tenancyv1alpha1.TenantCluster) { c.Spec.Topology.ClassRef.Namespace = "" }, "", "", ""},
		"another class namespace": {func(c *tenancyv1alpha1.TenantCluster) { c.Spec.Topology.ClassRef.Namespace = "more" }, "", "", ""},
		"a class of their own": {func(c *tenancyv1alpha1.TenantCluster) { c.Spec.Topology.ClassRef.Namespace = c.Namespace },
			tenancyv1alpha1.ReasonClassNotAllowed, "spec.topology.classRef.namespace", "--class-namespaces lists (classes, more)"},
		"a name that just fits": {func(c *tenancyv1alpha1.TenantCluster) { c.Namespace = strings.Repeat("a", 54) }, "", "", ""},
		"a name that is too long": {func(c *tenancyv1alpha1.TenantCluster) { c.Namespace = strings.Repeat("a", 55) },
			tenancyv1alpha1.ReasonNamespaceNameTooLong, "metadata.namespace", "at most 54"},
		"keys of their own": {func(c *tenancyv1alpha1.TenantCluster) {
			c.Spec.Topology.Metadata.Labels = map[string]string{"daytwo.dev": "", "cluster.x-k8s.io": "", "notdaytwo.dev/a": "", "example.com/daytwo.dev": "", "mycluster.x-k8s.io/a": ""}
		}, "", "", ""},
		"a label for Cluster API": {func(c *tenancyv1alpha1.TenantCluster) {
			c.Spec.Topology.Metadata.Labels = set("cluster.x-k8s.io/cluster-name")
		},
			tenancyv1alpha1.ReasonMetadataNotAllowed, "spec.topology.metadata.labels", "cluster.x-k8s.io/cluster-name is not passed on"},
		"an annotation for one of its parts": {func(c *tenancyv1alpha1.TenantCluster) {
			c.Spec.Topology.Metadata.Annotations = set("topology.cluster.x-k8s.io/defer-upgrade")
		},
			tenancyv1alpha1.ReasonMetadataNotAllowed, "spec.topology.metadata.annotations", "defer-upgrade"},
		"a label of Daytwo's on the control plane": {func(c *tenancyv1alpha1.TenantCluster) {
			c.Spec.Topology.ControlPlane.Metadata.Labels = set("daytwo.dev/managed-by")
		},
			tenancyv1alpha1.ReasonMetadataNotAllowed, "spec.topology.controlPlane.metadata.labels", "daytwo.dev/managed-by"},
		"a label of the provider's on a pool": {func(c *tenancyv1alpha1.TenantCluster) {
			c.Spec.Topology.Workers = []tenancyv1alpha1.TopologyWorkers{{}, {Metadata: tenancyv1alpha1.TopologyMetadata{Annotations: set("provider.daytwo.dev/tier")}}}
		}, tenancyv1alpha1.ReasonMetadataNotAllowed, "spec.topology.workers[1].metadata.annotations", "provider.daytwo.dev/tier"},
	} {
		order := tenant()
		order.Spec.Topology.ClassRef.Namespace = "classes"
		order.Spec.Topology.Metadata, order.Spec.Topology.ControlPlane.Metadata, order.Spec.Topology.Workers = tenancyv1alpha1.TopologyMetadata{}, tenancyv1alpha1.TopologyMetadata{}, nil
		test.change(order)
		problem := Options{ClassNamespaces: []string{"classes", "more"}}.Complete().Check(order)
		switch {
		case test.reason == "" && problem != nil:
			t.Errorf("%s: refused: %+v", name, problem)
		case test.reason != "" && problem == nil:
			t.Errorf("%s: it passes", name)
		case test.reason != "" && (problem.Reason != test.reason || problem.Field != test.field || !strings.Contains(problem.Message, test.says)):
			t.Errorf("%s: got %+v", name, problem)
		}
	}
}

func TestAClusterIsWhereNoCustomerWrites(t *testing.T) {
	order, options := tenant(), Options{Installation: "installation"}.Complete()
	if at := options.ClusterOf(order); at.Namespace != order.Namespace+"-clusters" || at.Name != order.Name {
		t.Errorf("it is at %s", at)
	}
	order.Spec.Topology.ClassRef.Namespace = ""
	cluster := Desired(order, "v1.36.3", options)
	if cluster.Namespace != order.Namespace+"-clusters" || cluster.Spec.Topology.ClassRef.Namespace != DefaultClassNamespace {
		t.Errorf("it is made in %s with a class of %s", cluster.Namespace, cluster.Spec.Topology.ClassRef.Namespace)
	}
}
