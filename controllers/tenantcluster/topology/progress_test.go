package topology

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
)

func clusterWith(conditions ...metav1.Condition) *clusterv1.Cluster {
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "prod", Generation: 2}}
	cluster.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{Kind: "LocalCluster", Name: "prod-x1"}
	cluster.Spec.ControlPlaneRef = clusterv1.ContractVersionedObjectReference{Kind: "LocalControlPlane", Name: "prod-x2"}
	cluster.Status.Conditions = conditions
	return cluster
}

func said(conditionType string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: conditionType, Status: status, Reason: reason, Message: message, ObservedGeneration: 2}
}

func TestTroubleIsToldWithTheObjectThatHasIt(t *testing.T) {
	progress := Read(clusterWith(
		said("InfrastructureReady", metav1.ConditionFalse, "NotReady", "no address is free"),
		said("ControlPlaneAvailable", metav1.ConditionFalse, "NotAvailable", "* the API server does not start"),
		said("WorkersAvailable", metav1.ConditionFalse, "NotAvailable", "* MachineDeployment prod-md-0: 0 of 2 available"),
		said("WorkerMachinesReady", metav1.ConditionFalse, "NotReady", "* Machine prod-md-0-abc:\n  * InfrastructureReady: no host"),
		said("TopologyReconciled", metav1.ConditionTrue, "ReconcileSucceeded", ""),
	))
	for _, test := range []struct {
		name string
		part Part
		says []string
	}{
		{"infrastructure", progress.Infrastructure, []string{"LocalCluster prod-x1", "no address is free"}},
		{"control plane", progress.ControlPlane, []string{"LocalControlPlane prod-x2", "the API server does not start"}},
		{"workers", progress.Workers, []string{"MachineDeployment prod-md-0", "Machine prod-md-0-abc", "InfrastructureReady: no host"}},
	} {
		if test.part.Ready || test.part.Absent || test.part.Reason != tenancyv1alpha1.ReasonNotAvailable {
			t.Errorf("%s: %+v", test.name, test.part)
		}
		for _, says := range test.says {
			if !strings.Contains(test.part.Message, says) || strings.Contains(test.part.Message, "\n") {
				t.Errorf("%s says %q, without %q", test.name, test.part.Message, says)
			}
		}
	}
	if !progress.Settled {
		t.Errorf("the order is not settled: %s", progress.Unsettled)
	}
}

func TestAnOrderIsSettledOnlyWhenClusterAPISaysSoOfTheNewestOne(t *testing.T) {
	stale := said("TopologyReconciled", metav1.ConditionTrue, "ReconcileSucceeded", "")
	stale.ObservedGeneration = 1
	for name, test := range map[string]struct {
		cluster *clusterv1.Cluster
		settled bool
	}{
		"nothing is said":      {clusterWith(), false},
		"of an earlier order":  {clusterWith(stale), false},
		"an upgrade goes on":   {clusterWith(said("TopologyReconciled", metav1.ConditionFalse, "ClusterUpgrading", "* LocalControlPlane rolls")), false},
		"all of it is done":    {clusterWith(said("TopologyReconciled", metav1.ConditionTrue, "ReconcileSucceeded", "")), true},
		"reconciliation fails": {clusterWith(said("TopologyReconciled", metav1.ConditionFalse, "ReconcileFailed", "no class")), false},
	} {
		progress := Read(test.cluster)
		if progress.Settled != test.settled || (progress.Unsettled == "") != test.settled {
			t.Errorf("%s: %+v", name, progress)
		}
	}
}

func TestAClusterWithoutWorkersHasNone(t *testing.T) {
	progress := Read(clusterWith(said("WorkersAvailable", metav1.ConditionTrue, "NoWorkers", "")))
	if !progress.Workers.Absent {
		t.Errorf("workers: %+v", progress.Workers)
	}
}

func TestVersionsOfAllPartsAreToldTheOldestFirst(t *testing.T) {
	cluster := clusterWith()
	cluster.Status.ControlPlane = &clusterv1.ClusterControlPlaneStatus{Versions: []clusterv1.StatusVersion{{Version: "v1.36.3"}}}
	cluster.Status.Workers = &clusterv1.WorkersStatus{Versions: []clusterv1.StatusVersion{{Version: "v1.36.3"}, {Version: "v1.9.1"}}}
	if got := strings.Join(Read(cluster).Versions, " "); got != "v1.9.1 v1.36.3" {
		t.Errorf("versions: %s", got)
	}
}
