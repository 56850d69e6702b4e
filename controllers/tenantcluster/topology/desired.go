package topology

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
)

// Desired returns the Cluster that a TenantCluster orders, in a version of Kubernetes. It has the mark of
// the installation, by which Daytwo knows its own from those that others made.
func Desired(tenant *tenancyv1alpha1.TenantCluster, version string, options Options) *clusterv1.Cluster {
	wanted, key := tenant.Spec.Topology, options.ClusterOf(tenant)
	cluster := &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: key.Namespace, Name: key.Name,
			Labels:      maps.Clone(wanted.Metadata.Labels),
			Annotations: maps.Clone(wanted.Metadata.Annotations),
		},
		Spec: clusterv1.ClusterSpec{Topology: clusterv1.Topology{
			ClassRef: clusterv1.ClusterClassRef{Namespace: options.classNamespace(wanted), Name: wanted.ClassRef.Name},
			Version:  version,
			ControlPlane: clusterv1.ControlPlaneTopology{
				Metadata: passOn(wanted.ControlPlane.Metadata), Replicas: wanted.ControlPlane.Replicas,
			},
			Workers: clusterv1.WorkersTopology{MachineDeployments: machineDeployments(wanted.Workers)},
		}},
	}
	for _, variable := range wanted.Variables {
		cluster.Spec.Topology.Variables = append(cluster.Spec.Topology.Variables,
			clusterv1.ClusterVariable{Name: variable.Name, Value: *variable.Value.DeepCopy()})
	}
	mark(cluster, options.Installation)
	return cluster
}

// IsOurs says whether this installation made a Cluster.
func IsOurs(cluster *clusterv1.Cluster, installation string) bool {
	return cluster.Labels[metav1alpha1.LabelManagedBy] == installation
}

// annotationPassedOn lists the labels and annotations that a Cluster has from its order, so that one that
// leaves the order leaves the Cluster too.
const annotationPassedOn = "daytwo.dev/passed-on"

type keys struct {
	Labels      []string `json:"labels,omitempty"`
	Annotations []string `json:"annotations,omitempty"`
}

// passedOn reads that list; empty if there is none, or somebody changed it into something else.
func passedOn(cluster *clusterv1.Cluster) keys {
	var listed keys
	if json.Unmarshal([]byte(cluster.Annotations[annotationPassedOn]), &listed) != nil {
		return keys{}
	}
	return listed
}

func mark(cluster *clusterv1.Cluster, installation string) {
	if cluster.Labels == nil {
		cluster.Labels = map[string]string{}
	}
	if cluster.Annotations == nil {
		cluster.Annotations = map[string]string{}
	}
	list, err := json.Marshal(keys{slices.Sorted(maps.Keys(cluster.Labels)), slices.Sorted(maps.Keys(cluster.Annotations))})
	if err == nil { // Strings can always be serialized.
		cluster.Annotations[annotationPassedOn] = string(list)
	}
	cluster.Labels[metav1alpha1.LabelHash] = hash(cluster)
	cluster.Labels[metav1alpha1.LabelManagedBy] = installation
}

// hash tells one order from another.
func hash(cluster *clusterv1.Cluster) string {
	return digest([]any{cluster.Labels, cluster.Annotations, cluster.Spec.Topology})
}

func digest(of any) string {
	content, err := json.Marshal(of)
	if err != nil {
		// A value that is no JSON; the API server admits none.
		content = fmt.Append(nil, of)
	}
	sum := sha256.Sum256(content)
	return "v1-" + hex.EncodeToString(sum[:8])
}

func passOn(metadata tenancyv1alpha1.TopologyMetadata) clusterv1.ObjectMeta {
	return clusterv1.ObjectMeta{Labels: maps.Clone(metadata.Labels), Annotations: maps.Clone(metadata.Annotations)}
}

func machineDeployments(pools []tenancyv1alpha1.TopologyWorkers) []clusterv1.MachineDeploymentTopology {
	var all []clusterv1.MachineDeploymentTopology
	for _, pool := range pools {
		one := clusterv1.MachineDeploymentTopology{
			Class: pool.Class, Name: pool.Name, Metadata: passOn(pool.Metadata), Replicas: pool.Replicas,
		}
		if scale := pool.Autoscaling; scale != nil {
			if one.Metadata.Annotations == nil {
				one.Metadata.Annotations = map[string]string{}
			}
			one.Metadata.Annotations[clusterv1.AutoscalerMinSizeAnnotation] = strconv.Itoa(int(*scale.Min))
			one.Metadata.Annotations[clusterv1.AutoscalerMaxSizeAnnotation] = strconv.Itoa(int(*scale.Max))
		}
		all = append(all, one)
	}
	return all
}
