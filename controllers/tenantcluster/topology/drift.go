package topology

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// Standing is how a Cluster stands to its order.
type Standing int

const (
	// AsTaken is a Cluster as Cluster API took the order.
	AsTaken Standing = iota
	// FilledIn is a Cluster that has what was ordered, and more, which nobody set. Cluster API fills in defaults
	// whenever somebody writes the Cluster: those of a class that came later than the order, for one.
	FilledIn
	// Outdated is one that was not written for the order of today, or lacks labels or annotations that are passed on.
	Outdated
	// Edited is one whose topology somebody else changed.
	Edited
)

// Compare finds out how a Cluster stands to its order. taken is the Fingerprint that its topology had when Cluster API
// took the order last, empty if that is not known, and editor is the Editor of it, which counts only if it has
// another one.
func Compare(live, desired *clusterv1.Cluster, taken, editor string) Standing {
	untouched := taken == Fingerprint(live)
	switch {
	case live.Labels[metav1alpha1.LabelHash] != desired.Labels[metav1alpha1.LabelHash]:
		return Outdated
	case !untouched && (editor != "" || !isAsOrdered(live, desired)):
		return Edited
	case !includes(live.Labels, desired.Labels) || !includes(live.Annotations, desired.Annotations):
		return Outdated
	case !untouched:
		return FilledIn
	}
	return AsTaken
}

// Fingerprint tells one topology from another, with all that Cluster API or people set in it.
func Fingerprint(cluster *clusterv1.Cluster) string { return digest(cluster.Spec.Topology) }

// Reconciled returns a Cluster as it should be. What others add to its metadata stays.
func Reconciled(live, desired *clusterv1.Cluster) *clusterv1.Cluster {
	cluster := live.DeepCopy()
	before, after := passedOn(live), passedOn(desired)
	cluster.Labels = replace(cluster.Labels, before.Labels, after.Labels, desired.Labels)
	cluster.Annotations = replace(cluster.Annotations, before.Annotations, after.Annotations, desired.Annotations)
	cluster.Spec.Topology = *desired.Spec.Topology.DeepCopy()
	return cluster
}

// replace takes the keys away that were passed on before and are no more, and sets the wanted ones.
func replace(live map[string]string, before, after []string, wanted map[string]string) map[string]string {
	replaced := maps.Clone(live)
	for _, key := range before {
		if !slices.Contains(after, key) {
			delete(replaced, key)
		}
	}
	if replaced == nil && len(wanted) > 0 {
		replaced = map[string]string{}
	}
	maps.Copy(replaced, wanted)
	return replaced
}

// isAsOrdered: the topology has all that was ordered, whatever else is filled in.
func isAsOrdered(live, desired *clusterv1.Cluster) bool {
	is, should := live.Spec.Topology, desired.Spec.Topology
	return is.Version == should.Version && isSameClass(live, desired) &&
		isSameReplicas(is.ControlPlane.Replicas, should.ControlPlane.Replicas) && len(is.ControlPlane.Variables.Overrides) == 0 &&
		equality.Semantic.DeepEqual(is.ControlPlane.Metadata, should.ControlPlane.Metadata) &&
		areSamePools(is.Workers, should.Workers) && haveValues(is.Variables, should.Variables)
}

// isSameClass allows for the namespace that Cluster API fills in.
func isSameClass(live, desired *clusterv1.Cluster) bool {
	return live.GetClassKey() == desired.GetClassKey()
}

func includes(all, some map[string]string) bool {
	for key, value := range some {
		if actual, ok := all[key]; !ok || actual != value {
			return false
		}
	}
	return true
}

// isSameReplicas leaves a number alone that was not ordered.
func isSameReplicas(is, should *int32) bool {
	return should == nil || (is != nil && *is == *should)
}

// areSamePools finds pools that others added, removed or changed.
func areSamePools(is, should clusterv1.WorkersTopology) bool {
	if len(is.MachineDeployments) != len(should.MachineDeployments) || len(is.MachinePools) > 0 {
		return false
	}
	byName := map[string]clusterv1.MachineDeploymentTopology{}
	for _, pool := range is.MachineDeployments {
		byName[pool.Name] = pool
	}
	for _, wanted := range should.MachineDeployments {
		pool, ok := byName[wanted.Name]
		if !ok || pool.Class != wanted.Class || len(pool.Variables.Overrides) > 0 || !isSameReplicas(pool.Replicas, wanted.Replicas) ||
			!equality.Semantic.DeepEqual(pool.Metadata, wanted.Metadata) {
			return false
		}
	}
	return true
}

// haveValues leaves variables alone that were not ordered: Cluster API adds those with defaults.
func haveValues(is, should []clusterv1.ClusterVariable) bool {
	values := map[string][]byte{}
	for _, variable := range is {
		values[variable.Name] = variable.Value.Raw
	}
	for _, wanted := range should {
		if value, ok := values[wanted.Name]; !ok || !isSameJSON(value, wanted.Value.Raw) {
			return false
		}
	}
	return true
}

// isSameJSON lets fields be missing in what was ordered: Cluster API fills in defaults within a value too.
func isSameJSON(is, should []byte) bool {
	if bytes.Equal(is, should) {
		return true
	}
	var actual, wanted any
	if json.Unmarshal(is, &actual) != nil || json.Unmarshal(should, &wanted) != nil {
		return false
	}
	return covers(actual, wanted)
}

func covers(actual, wanted any) bool {
	if items, ok := wanted.([]any); ok {
		values, ok := actual.([]any)
		return ok && slices.EqualFunc(values, items, covers)
	}
	fields, isObject := wanted.(map[string]any)
	values, isToo := actual.(map[string]any)
	if !isObject || !isToo {
		return equality.Semantic.DeepEqual(actual, wanted)
	}
	for name, value := range fields {
		if existing, ok := values[name]; !ok || !covers(existing, value) {
			return false
		}
	}
	return true
}
