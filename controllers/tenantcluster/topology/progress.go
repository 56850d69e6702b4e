package topology

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
)

// Part is how one part of a cluster stands.
type Part struct {
	Ready  bool
	Reason string
	// Message names the object that has trouble, by kind and name, and says what it says.
	Message string
	// Absent: the cluster has no such part.
	Absent bool
}

// Progress is how far Cluster API is with an order.
type Progress struct {
	Infrastructure, ControlPlane, Workers Part
	// Settled: Cluster API has done everything that was ordered so far.
	Settled bool
	// Unsettled says what is left to do, or why it cannot be done.
	Unsettled string
	// Versions that the cluster's parts have, the oldest first.
	Versions []string
}

// Read reads the progress from what Cluster API says on the Cluster, which gathers what all objects below
// it say.
func Read(cluster *clusterv1.Cluster) Progress {
	p := Progress{
		Infrastructure: part(cluster, clusterv1.ClusterInfrastructureReadyCondition, objectOf(cluster.Spec.InfrastructureRef, cluster)),
		ControlPlane:   part(cluster, clusterv1.ClusterControlPlaneAvailableCondition, objectOf(cluster.Spec.ControlPlaneRef, cluster)),
		Workers:        workers(cluster),
		Versions:       versions(cluster),
	}
	topology := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1.ClusterTopologyReconciledCondition)
	switch {
	case topology == nil || topology.ObservedGeneration < cluster.Generation:
		p.Unsettled = fmt.Sprintf("Cluster %s: Cluster API has not looked at the order yet", cluster.Name)
	case topology.Status != metav1.ConditionTrue:
		p.Unsettled = fmt.Sprintf("Cluster %s: %s", cluster.Name, Plain(topology))
	default:
		p.Settled = true
	}
	if !p.Settled && p.Infrastructure.Reason == tenancyv1alpha1.ReasonOrdered {
		p.Infrastructure.Message = p.Unsettled
	}
	return p
}

func part(cluster *clusterv1.Cluster, conditionType, object string) Part {
	condition := meta.FindStatusCondition(cluster.Status.Conditions, conditionType)
	switch {
	case condition == nil:
		return Part{Reason: tenancyv1alpha1.ReasonOrdered, Message: fmt.Sprintf("Cluster %s: Cluster API has said nothing of it yet", cluster.Name)}
	case condition.Status == metav1.ConditionTrue:
		return Part{Ready: true, Reason: tenancyv1alpha1.ReasonAvailable, Message: object + " is available."}
	}
	return Part{Reason: tenancyv1alpha1.ReasonNotAvailable, Message: object + ": " + Plain(condition)}
}

// workers joins what is said of the pools and of the machines in them.
func workers(cluster *clusterv1.Cluster) Part {
	object := "Cluster " + cluster.Name
	available := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1.ClusterWorkersAvailableCondition)
	if available != nil && available.Reason == clusterv1.ClusterWorkersAvailableNoWorkersReason {
		return Part{Ready: true, Absent: true}
	}
	found := part(cluster, clusterv1.ClusterWorkersAvailableCondition, object)
	if found.Ready {
		found.Message = "All workers are available."
	}
	machines := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1.ClusterWorkerMachinesReadyCondition)
	if !found.Ready && machines != nil && machines.Status == metav1.ConditionFalse && machines.Message != "" {
		found.Message += "; " + Plain(machines)
	}
	return found
}

// objectOf names the object that a condition of the Cluster tells of.
func objectOf(reference clusterv1.ContractVersionedObjectReference, cluster *clusterv1.Cluster) string {
	if reference.Kind == "" {
		return "Cluster " + cluster.Name
	}
	return reference.Kind + " " + reference.Name
}

// Plain puts Cluster API's list of messages into one line.
func Plain(condition *metav1.Condition) string {
	var lines []string
	for line := range strings.Lines(condition.Message) {
		if line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "*")); line != "" {
			lines = append(lines, line)
		}
	}
	return cmp.Or(strings.Join(lines, "; "), condition.Reason)
}

func versions(cluster *clusterv1.Cluster) []string {
	var found []string
	if plane := cluster.Status.ControlPlane; plane != nil {
		for _, version := range plane.Versions {
			found = append(found, version.Version)
		}
	}
	if pools := cluster.Status.Workers; pools != nil {
		for _, version := range pools.Versions {
			found = append(found, version.Version)
		}
	}
	slices.SortFunc(found, compareVersions)
	return slices.Compact(found)
}
