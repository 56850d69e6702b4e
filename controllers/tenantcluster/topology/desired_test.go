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
	cluster := Desired(tenant(), "v1.35.6", installation)
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
	desired := Desired(tenant(), "v1.36.3", installation)
	live := desired.DeepCopy()
	live.Labels["topology.cluster.x-k8s.io/owned"] = ""
	live.Annotations["somebody"] = "else"
	live.Spec.InfrastructureRef.Kind = "LocalCluster"
	live.Spec.Topology.Workers.MachineDeployments[1].Replicas = ptr.To[int32](4)
	live.Spec.Topology.Variables[0].Value.Raw = []byte(`{"class": "fast", "size": "10Gi"}`)
	live.Spec.Topology.Variables = append(live.Spec.Topology.Variables, clusterv1.ClusterVariable{Name: "defaulted", Value: apiextensionsv1.JSON{Raw: []byte(`1`)}})
	if changed, differs := Reconciled(live, desired, Fingerprint(live)); differs {
		t.Errorf("it is changed to %+v", changed.Spec.Topology)
	}
}

func TestEditsOfTheOrderAreTakenBack(t *testing.T) {
	desired := Desired(tenant(), "v1.36.3", installation)
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
		"label":            func(c *clusterv1.Cluster) { delete(c.Labels, "tier") },
	} {
		live := desired.DeepCopy()
		live.ResourceVersion = "7"
		edit(live)
		changed, differs := Reconciled(live, desired, Fingerprint(desired))
		if !differs {
			t.Errorf("%s: it is not noticed", name)
			continue
		}
		if changed.ResourceVersion != "7" {
			t.Errorf("%s: it is not the live object that is changed", name)
		}
		if _, again := Reconciled(changed, desired, Fingerprint(changed)); again {
			t.Errorf("%s: it is not taken back at once", name)
		}
	}
}

func TestOnlyAnEditIsSaidToBeOne(t *testing.T) {
	desired := Desired(tenant(), "v1.36.3", installation)
	edited := desired.DeepCopy()
	edited.Spec.Topology.ControlPlane.Replicas = ptr.To[int32](1)
	another := tenant()
	another.Spec.Topology.ControlPlane.Replicas = ptr.To[int32](5)
	for name, test := range map[string]struct {
		live, desired *clusterv1.Cluster
		taken         string
		want          bool
	}{
		"as it was taken":                {desired, desired, Fingerprint(desired), false},
		"edited":                         {edited, desired, Fingerprint(desired), true},
		"the order is another one":       {desired, Desired(another, "v1.36.3", installation), Fingerprint(desired), false},
		"it is not known what was taken": {edited, desired, "", false},
	} {
		if got := IsEdited(test.live, test.desired, test.taken); got != test.want {
			t.Errorf("%s: edited: %v", name, got)
		}
	}
	if _, differs := Reconciled(desired, desired, ""); !differs {
		t.Error("where it is not known what was taken, the order is not given again")
	}
}

func TestALabelThatLeavesTheOrderLeavesTheCluster(t *testing.T) {
	before := tenant()
	before.Spec.Topology.Metadata.Annotations = map[string]string{"note": "a"}
	live := Desired(before, "v1.36.3", installation)
	live.Labels["theirs"] = "kept"
	before.Spec.Topology.Metadata = tenancyv1alpha1.TopologyMetadata{}
	desired := Desired(before, "v1.36.3", installation)
	changed, differs := Reconciled(live, desired, Fingerprint(live))
	_, label := changed.Labels["tier"]
	_, annotation := changed.Annotations["note"]
	if !differs || label || annotation || changed.Labels["theirs"] != "kept" {
		t.Errorf("differs: %v, labels %v, annotations %v", differs, changed.Labels, changed.Annotations)
	}
	if _, again := Reconciled(changed, desired, Fingerprint(changed)); again {
		t.Error("it is not settled")
	}
}

func TestAVariableThatLeavesTheOrderLeavesTheCluster(t *testing.T) {
	before := tenant()
	live := Desired(before, "v1.36.3", installation)
	before.Spec.Topology.Variables = nil
	changed, differs := Reconciled(live, Desired(before, "v1.36.3", installation), Fingerprint(live))
	if !differs || len(changed.Spec.Topology.Variables) != 0 {
		t.Errorf("differs: %v, variables: %v", differs, changed.Spec.Topology.Variables)
	}
}
