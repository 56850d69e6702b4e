package drdrill

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
)

func TestTheClusterOfADrillIsLikeTheOneThatWasBackedUpAndClosedToPolicies(t *testing.T) {
	drill := rehearsal(backupv1alpha1.DrillEphemeral, 0)
	drill.Name = "weekly.of." + strings.Repeat("a-long-name", 4)
	drill.Spec.Target.Ephemeral = &backupv1alpha1.EphemeralCluster{Addons: []string{"velero", "csi"}}
	from := &tenancyv1alpha1.TenantCluster{ObjectMeta: metav1.ObjectMeta{
		Namespace: "acme", Name: "prod", Labels: map[string]string{"tier": "gold", "provider.daytwo.dev/region": "eu", metav1alpha1.LabelClusterID: "id"},
	}}
	topology := &tenancyv1alpha1.ClusterTopology{Version: "v1.36.3"}
	made := orderFor(drill, from, topology)
	if problems := validation.IsDNS1123Label(made.Name); len(problems) > 0 || len(made.Name) > maxClusterName {
		t.Errorf("the name is %s: %v", made.Name, problems)
	}
	if made.Labels["tier"] != "gold" || made.Labels["provider.daytwo.dev/region"] != "eu" || made.Labels[metav1alpha1.LabelClusterID] != "" || made.Labels[metav1alpha1.LabelDrillCluster] != drill.Name {
		t.Errorf("the labels are %v", made.Labels)
	}
	if open := made.Annotations[metav1alpha1.AnnotationOpenTo]; open != "SaaSAddon/csi,SaaSAddon/velero" {
		t.Errorf("it is open to %q", open)
	}
	if !metav1.IsControlledBy(made, drill) || made.Spec.Topology == topology || made.Spec.Topology.Version != topology.Version || made.Spec.DeletionProtection {
		t.Errorf("it is ordered as %+v of %+v", made.Spec, made.OwnerReferences)
	}
}

func TestADrillInAClusterOfItsOwnEndsWithTheLifetimeOfTheCluster(t *testing.T) {
	drill := rehearsal(backupv1alpha1.DrillEphemeral, 11)
	drill.Spec.Target.Ephemeral = &backupv1alpha1.EphemeralCluster{MaxLifetime: &metav1.Duration{Duration: 2 * time.Hour}}
	end := noon.Add(2 * time.Hour)
	for name, test := range map[string]struct {
		steps int
		now   time.Time
		want  string
	}{
		"its cluster is ordered first":              {1, noon, "order-cluster 5m0s"},
		"the cluster is waited for while it lives":  {2, noon, "credentials 2h0m0s"},
		"and less as it gets older":                 {2, end.Add(-time.Minute), "credentials 1m0s"},
		"no step takes longer than the cluster has": {9, end.Add(-time.Second), "restore 1s"},
		"nor is it verified longer":                 {10, end.Add(-time.Minute), "verify 1m0s"},
		"a cluster that never came is told":         {2, end, "Inconclusive"},
		"nothing passes for what was not looked at": {11, end, "Inconclusive"},
	} {
		one := rehearsal(backupv1alpha1.DrillEphemeral, test.steps)
		one.Spec = drill.Spec
		got := ""
		switch move := new(Reconciler).Next(view{Run: one, Now: test.now}); {
		case move.Task != nil:
			got = move.Task.Name + " " + move.Task.Timeout.String()
		case move.Begin != nil:
			got = move.Begin.Action + " " + move.Begin.Timeout.String()
		case move.Record != nil:
			move.Record(one)
			got = string(one.Status.Verdict)
		}
		if got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
	drill.Status.EndedAt = &metav1.Time{Time: noon.Add(time.Hour)}
	drill.Spec.Cleanup.KeepFailedFor = &metav1.Duration{Duration: 24 * time.Hour}
	if at := new(Reconciler).RemovesAt(drill); !at.Equal(end) {
		t.Errorf("a cluster that is kept goes at %s, and not at the end of its life %s", at, end)
	}
}

func TestNoVolumeOfTheClusterThatWasBackedUpIsTakenIntoADrill(t *testing.T) {
	volumes := schema.GroupResource{Resource: "persistentvolumes"}
	if got := leftOut([]schema.GroupResource{volumes}, exposed(rehearsal(backupv1alpha1.DrillEphemeral, 0))); len(got) != 1 {
		t.Errorf("left out are %v", got)
	}
}
