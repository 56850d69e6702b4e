package topology

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
)

const installation = "installation-a"

var orders = Options{Installation: installation}.Complete()

func tenant() *tenancyv1alpha1.TenantCluster {
	return &tenancyv1alpha1.TenantCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "prod"},
		Spec: tenancyv1alpha1.TenantClusterSpec{Topology: &tenancyv1alpha1.ClusterTopology{
			ClassRef: tenancyv1alpha1.ClusterClassReference{Namespace: "classes", Name: "standard"}, Version: "v1.36.3",
			Metadata:     tenancyv1alpha1.TopologyMetadata{Labels: map[string]string{"tier": "gold"}},
			ControlPlane: tenancyv1alpha1.TopologyControlPlane{Replicas: ptr.To[int32](3)},
			Workers: []tenancyv1alpha1.TopologyWorkers{
				{Class: "default", Name: "fixed", Replicas: ptr.To[int32](2)},
				{Class: "default", Name: "elastic", Autoscaling: &tenancyv1alpha1.TopologyAutoscaling{Min: ptr.To[int32](1), Max: ptr.To[int32](9)}},
			},
			Variables: []tenancyv1alpha1.TopologyVariable{{Name: "storage", Value: apiextensionsv1.JSON{Raw: []byte(`{"size":"10Gi"}`)}}},
		}},
	}
}

func TestAnOrderCarriesWhatTheTenantClusterSays(t *testing.T) {
	cluster := Desired(tenant(), "v1.35.6", orders)
	topology := cluster.Spec.Topology
	if topology.Version != "v1.35.6" || topology.ClassRef.Name != "standard" || topology.ClassRef.Namespace != "classes" ||
		*topology.ControlPlane.Replicas != 3 || cluster.Labels["tier"] != "gold" || !IsOurs(cluster, installation) || IsOurs(cluster, "another") {
		t.Errorf("ordered %+v", cluster)
	}
	fixed, elastic := topology.Workers.MachineDeployments[0], topology.Workers.MachineDeployments[1]
	if *fixed.Replicas != 2 || len(fixed.Metadata.Annotations) != 0 {
		t.Errorf("the pool of two is %+v", fixed)
	}
	if elastic.Replicas != nil || elastic.Metadata.Annotations[clusterv1.AutoscalerMinSizeAnnotation] != "1" ||
		elastic.Metadata.Annotations[clusterv1.AutoscalerMaxSizeAnnotation] != "9" {
		t.Errorf("the pool that scales by itself is %+v", elastic)
	}
}

func TestWhatClusterAPIFillsInIsNoDrift(t *testing.T) {
	desired := Desired(tenant(), "v1.36.3", orders)
	live := desired.DeepCopy()
	live.Labels["topology.cluster.x-k8s.io/owned"] = ""
	live.Annotations["somebody"] = "else"
	live.Spec.InfrastructureRef.Kind = "LocalCluster"
	live.Spec.Topology.Workers.MachineDeployments[1].Replicas = ptr.To[int32](4)
	live.Spec.Topology.Variables[0].Value.Raw = []byte(`{"class": "fast", "size": "10Gi"}`)
	live.Spec.Topology.Variables = append(live.Spec.Topology.Variables, clusterv1.ClusterVariable{Name: "defaulted", Value: apiextensionsv1.JSON{Raw: []byte(`1`)}})
	if standing := Compare(live, desired, Fingerprint(live), ""); standing != AsTaken {
		t.Errorf("taken so, it stands %d", standing)
	}
	if standing := Compare(live, desired, Fingerprint(desired), ""); standing != FilledIn {
		t.Errorf("filled in later, it stands %d", standing)
	}
	if standing := Compare(live, desired, "", ""); standing != FilledIn {
		t.Errorf("if it is not known how it was taken, it stands %d", standing)
	}
}

func TestEditsOfTheOrderAreTakenBack(t *testing.T) {
	desired := Desired(tenant(), "v1.36.3", orders)
	for name, edit := range map[string]func(*clusterv1.Cluster){
		"version":          func(c *clusterv1.Cluster) { c.Spec.Topology.Version = "v1.37.0" },
		"class":            func(c *clusterv1.Cluster) { c.Spec.Topology.ClassRef.Name = "small" },
		"class, namespace": func(c *clusterv1.Cluster) { c.Spec.Topology.ClassRef.Namespace = "" },
		"control plane":    func(c *clusterv1.Cluster) { c.Spec.Topology.ControlPlane.Replicas = ptr.To[int32](1) },
		"workers":          func(c *clusterv1.Cluster) { c.Spec.Topology.Workers.MachineDeployments[0].Replicas = ptr.To[int32](5) },
		"pool removed": func(c *clusterv1.Cluster) {
			c.Spec.Topology.Workers.MachineDeployments = c.Spec.Topology.Workers.MachineDeployments[:1]
		},
		"pool added": func(c *clusterv1.Cluster) {
			c.Spec.Topology.Workers.MachineDeployments = append(c.Spec.Topology.Workers.MachineDeployments, clusterv1.MachineDeploymentTopology{Name: "x", Class: "default"})
		},
		"bounds of autoscaling": func(c *clusterv1.Cluster) {
			c.Spec.Topology.Workers.MachineDeployments[1].Metadata.Annotations[clusterv1.AutoscalerMaxSizeAnnotation] = "99"
		},
		"variable": func(c *clusterv1.Cluster) { c.Spec.Topology.Variables[0].Value.Raw = []byte(`{"size":"1Gi"}`) },
		"variable of a pool": func(c *clusterv1.Cluster) {
			c.Spec.Topology.Workers.MachineDeployments[0].Variables.Overrides = []clusterv1.ClusterVariable{{Name: "storage"}}
		},
		"variable of the control plane": func(c *clusterv1.Cluster) {
			c.Spec.Topology.ControlPlane.Variables.Overrides = []clusterv1.ClusterVariable{{Name: "storage"}}
		},
		"something that an order cannot say": func(c *clusterv1.Cluster) {
			c.Spec.Topology.ControlPlane.Deletion.NodeDrainTimeoutSeconds = ptr.To[int32](60)
		},
		"replicas that were not ordered": func(c *clusterv1.Cluster) {
			c.Spec.Topology.Workers.MachineDeployments[1].Replicas = ptr.To[int32](7)
		},
		"variable that was not ordered": func(c *clusterv1.Cluster) {
			c.Spec.Topology.Variables = append(c.Spec.Topology.Variables, clusterv1.ClusterVariable{Name: "defaulted", Value: apiextensionsv1.JSON{Raw: []byte(`1`)}})
		},
		"variable removed": func(c *clusterv1.Cluster) { c.Spec.Topology.Variables = nil },
	} {
		live := desired.DeepCopy()
		live.ResourceVersion = "7"
		edit(live)
		if standing := Compare(live, desired, Fingerprint(desired), "kubectl-edit"); standing != Edited {
			t.Errorf("%s: it stands %d", name, standing)
		}
		changed := Reconciled(live, desired)
		if changed.ResourceVersion != "7" {
			t.Errorf("%s: it is not the live object that is changed", name)
		}
		if standing := Compare(changed, desired, Fingerprint(desired), ""); standing != AsTaken {
			t.Errorf("%s: it is not taken back at once, but stands %d", name, standing)
		}
	}
}

func TestOnlyAnEditIsSaidToBeOne(t *testing.T) {
	desired := Desired(tenant(), "v1.36.3", orders)
	edited, unlabelled := desired.DeepCopy(), desired.DeepCopy()
	edited.Spec.Topology.ControlPlane.Replicas = ptr.To[int32](1)
	delete(unlabelled.Labels, "tier")
	both := unlabelled.DeepCopy()
	both.Spec.Topology.ControlPlane.Replicas = ptr.To[int32](1)
	order := tenant()
	order.Spec.Topology.ControlPlane.Replicas = ptr.To[int32](5)
	another := Desired(order, "v1.36.3", orders)
	for name, test := range map[string]struct {
		live, desired *clusterv1.Cluster
		taken, editor string
		want          Standing
	}{
		"as it was taken":                      {desired, desired, Fingerprint(desired), "", AsTaken},
		"as it was taken, whoever wrote it":    {desired, desired, Fingerprint(desired), "somebody", AsTaken},
		"not as it was ordered, but taken so":  {edited, desired, Fingerprint(edited), "", AsTaken},
		"edited":                               {edited, desired, Fingerprint(desired), "somebody", Edited},
		"edited, and nobody can tell by whom":  {edited, desired, Fingerprint(desired), "", Edited},
		"the order is another one":             {desired, another, Fingerprint(desired), "", Outdated},
		"the order was taken, but not noted":   {another, another, Fingerprint(desired), "", FilledIn},
		"a label that is passed on is missing": {unlabelled, desired, Fingerprint(desired), "", Outdated},
		"a label, and the topology is edited":  {both, desired, Fingerprint(desired), "somebody", Edited},
	} {
		if got := Compare(test.live, test.desired, test.taken, test.editor); got != test.want {
			t.Errorf("%s: it stands %d", name, got)
		}
	}
}

func TestALabelThatLeavesTheOrderLeavesTheCluster(t *testing.T) {
	before := tenant()
	before.Spec.Topology.Metadata.Annotations = map[string]string{"note": "a"}
	live := Desired(before, "v1.36.3", orders)
	live.Labels["theirs"] = "kept"
	before.Spec.Topology.Metadata = tenancyv1alpha1.TopologyMetadata{}
	desired := Desired(before, "v1.36.3", orders)
	changed := Reconciled(live, desired)
	_, label := changed.Labels["tier"]
	_, annotation := changed.Annotations["note"]
	if Compare(live, desired, Fingerprint(live), "") != Outdated || label || annotation || changed.Labels["theirs"] != "kept" {
		t.Errorf("labels %v, annotations %v", changed.Labels, changed.Annotations)
	}
	if standing := Compare(changed, desired, Fingerprint(changed), ""); standing != AsTaken {
		t.Errorf("it is not settled, but stands %d", standing)
	}
}

func TestAVariableThatLeavesTheOrderLeavesTheCluster(t *testing.T) {
	before := tenant()
	live := Desired(before, "v1.36.3", orders)
	before.Spec.Topology.Variables = nil
	desired := Desired(before, "v1.36.3", orders)
	changed := Reconciled(live, desired)
	if Compare(live, desired, Fingerprint(live), "") != Outdated || len(changed.Spec.Topology.Variables) != 0 {
		t.Errorf("variables: %v", changed.Spec.Topology.Variables)
	}
}
