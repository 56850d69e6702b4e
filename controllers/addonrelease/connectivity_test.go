package addonrelease

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/connectivity"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
)

// tenantWith has conditions like "Connected=False/Unreachable".
func tenantWith(conditions ...string) *tenancyv1alpha1.TenantCluster {
	tenant := &tenancyv1alpha1.TenantCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: tenantName}}
	for _, text := range conditions {
		kind, rest, _ := strings.Cut(text, "=")
		is, reason, _ := strings.Cut(rest, "/")
		meta.SetStatusCondition(&tenant.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionStatus(is), Reason: reason, Message: "told"})
	}
	return tenant
}

// What a TenantCluster says of its connection may be from before the manager started.
func TestADeletedReleaseIsGivenUpForWhatIsFoundOutNow(t *testing.T) {
	const (
		silent      = "Connected=False/" + tenancyv1alpha1.ReasonUnreachable
		answered    = "Connected=True/Connected"
		noAccess    = "Connected=False/" + tenancyv1alpha1.ReasonNoAccess
		refused     = "KubeconfigValid=False/SecretNotFound"
		conflict    = "IdentityConflict=True/Changed"
		given       = "release; "
		waits       = ""
		unreachable = "TenantCluster default/prod: told"
	)
	for _, row := range []struct {
		name       string
		phase      fleet.Phase // empty without a connection
		conditions []string
		plan       string
		why        string
	}{
		{"NobodyHasTriedYet", "", []string{silent}, waits, ""},
		{"TheFirstTryIsUnderWay", fleet.Connecting, []string{silent}, waits, ""},
		{"ItAnswersAndIsAboutToBeAdmitted", fleet.Connected, []string{silent}, waits, ""},
		{"ItIsSilent", fleet.Unreachable, []string{silent}, given, unreachable},
		{"ItRefusesUs", fleet.Unauthorized, []string{silent}, given, unreachable},
		{"ItWasNotToldOfYet", fleet.Unreachable, []string{answered}, waits, ""},
		{"ThereIsNothingToConnectWith", "", []string{refused, noAccess}, given, unreachable},
		{"TheAccessIsGone", "", []string{noAccess}, given, unreachable},
		{"ItIsAnotherCluster", fleet.Connected, []string{answered, conflict}, given, unreachable},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := scene(deleting)
			o.ClusterDeletion = &connectivity.ClusterDeletion{Outcome: connectivity.ClusterKept, Deadline: noon.Add(-time.Hour)}
			o.NotConnected(tenantWith(row.conditions...), fleet.State{Phase: row.phase}, row.phase != "")
			if got := summarize(newPlan(o)); got != row.plan || o.Unreachable != row.why || o.Pending != (row.why == "") {
				t.Errorf("plan is %q, unreachable %q, pending %v", got, o.Unreachable, o.Pending)
			}
		})
	}
}

func TestAReleaseThatStaysTellsAtOnceThatItsClusterIsSilent(t *testing.T) {
	o := scene()
	if o.NotConnected(tenantWith("Connected=False/Unreachable"), fleet.State{}, false); o.Unreachable == "" || o.Pending {
		t.Errorf("unreachable %q, pending %v", o.Unreachable, o.Pending)
	}
}

// move takes a release from a cluster to another one.
func move(o *observation, from string) {
	o.Status.ClusterID = from
	releases.MoveFrom(o)
}

func TestWhatIsInAReplacedClusterIsRecorded(t *testing.T) {
	o := scene()
	move(o, "id-before")
	want := tenancyv1alpha1.OrphanRecordSpec{
		ClusterID: "id-before",
		Objects:   []tenancyv1alpha1.OrphanObject{{ID: "v1/ConfigMap/cache/a", UID: "a"}, {ID: "v1/ConfigMap/cache/b", UID: "b"}},
		Reason:    tenancyv1alpha1.OrphanReplaced, Message: "the provider accepted another cluster in its place",
	}
	if !reflect.DeepEqual(o.Elsewhere, want) || len(o.Inventory) > 0 {
		t.Errorf("the record is %+v, and %d objects are listed still", o.Elsewhere, len(o.Inventory))
	}
	o = scene(func(o *observation) { o.Target.Spec.DeletionPolicy = metav1alpha1.DeletionPolicyOrphan })
	if move(o, "id-before"); len(o.Elsewhere.Objects) > 0 {
		t.Errorf("what is to stay is to be swept: %+v", o.Elsewhere)
	}
}

func TestADeletedReleaseSaysThatItWaitsForTheFinalBackup(t *testing.T) {
	now := metav1.NewTime(noon)
	tenant := tenantWith("Connected=True/Connected")
	tenant.DeletionTimestamp, tenant.Spec.Deletion.FinalBackup = &now, true
	o := scene(deleting)
	o.ClusterDeletion = connectivity.ClusterDeletionOf(tenant, o.Target)
	next := newReport(o, newPlan(o), nothingDone(o), target.Shown{}).status
	ready := meta.FindStatusCondition(next.Conditions, metav1alpha1.ConditionReady)
	if ready.Reason != metav1alpha1.ReasonDeleting || !strings.Contains(ready.Message, "2 objects stay until the final backup") || !strings.Contains(ready.Message, "spec.deletion.finalBackup") {
		t.Errorf("it says %s: %s", ready.Reason, ready.Message)
	}
	tenant.Status.Deletion = &tenancyv1alpha1.Deletion{Step: tenancyv1alpha1.DeletionRemovingTargets, Since: now}
	if o.ClusterDeletion = connectivity.ClusterDeletionOf(tenant, o.Target); summarize(newPlan(o)) != "remove a; remove b; release; " {
		t.Errorf("when it is made the plan is %q", summarize(newPlan(o)))
	}
}
