package tenantcluster

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/deletion"
)

// backedUp is a deleted cluster whose final backup is awaited since then.
func backedUp(o *observation) {
	deleted(o)
	o.cluster.Spec.Deletion.FinalBackup = true
	o.cluster.Status.Deletion = &tenancyv1alpha1.Deletion{Step: tenancyv1alpha1.DeletionFinalBackup, Since: *o.cluster.DeletionTimestamp}
}

// silentSince is what the status says of a cluster that does not answer.
func silentSince(o *observation, at time.Time) {
	o.cluster.Status.Conditions = []metav1.Condition{{
		Type: tenancyv1alpha1.ConditionConnected, Status: metav1.ConditionFalse, Reason: tenancyv1alpha1.ReasonUnreachable,
		Message: "no answer", LastTransitionTime: metav1.NewTime(at),
	}}
}

func TestSilence(t *testing.T) {
	earlier := now.Add(-time.Hour)
	for name, test := range map[string]struct {
		change func(*observation)
		want   deletion.Unreachable
	}{
		"it answers":     {func(*observation) {}, deletion.Unreachable{}},
		"it just ceased": {func(o *observation) { o.link.Phase, o.link.Message = fleet.Unreachable, "reset" }, deletion.Unreachable{Since: now, Why: "reset"}},
		"it has not for an hour": {func(o *observation) {
			silentSince(o, earlier)
			o.link.Phase, o.link.Message = fleet.Unreachable, "reset"
		}, deletion.Unreachable{Since: earlier, Why: "reset"}},
		"the credentials are gone":                    {func(o *observation) { o.link, o.credentials.problem = nil, &problem{message: "no Secret"} }, deletion.Unreachable{Since: now, Why: "no Secret"}},
		"it is another cluster":                       {func(o *observation) { o.link.Identity = "management" }, deletion.Unreachable{Since: now, Why: "The kubeconfig leads to the management cluster"}},
		"the manager started, it answered before":     {func(o *observation) { o.link = nil }, deletion.Unreachable{Untried: true}},
		"the manager started, it did not answer then": {func(o *observation) { o.link = nil; silentSince(o, earlier) }, deletion.Unreachable{Since: earlier, Why: "no answer", Untried: true}},
	} {
		t.Run(name, func(t *testing.T) {
			seen := settled()
			deleted(&seen)
			test.change(&seen)
			got := unreachableOf(seen)
			if !got.Since.Equal(test.want.Since) || !strings.HasPrefix(got.Why, test.want.Why) || got.Untried != test.want.Untried {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestReportOfADeletion(t *testing.T) {
	o := settled()
	backedUp(&o)
	o.cluster.Status.Deletion = nil
	first := reported(o)
	if first.status.Deletion.Step != tenancyv1alpha1.DeletionFinalBackup || first.again != 0 || first.status.Phase != tenancyv1alpha1.PhaseDeleting {
		t.Errorf("deletion %+v, again in %s, phase %s", first.status.Deletion, first.again, first.status.Phase)
	}
	if last := first.events[len(first.events)-1]; last.reason != "FinalBackup" || !strings.Contains(last.note, "no BackupEnrollment has this cluster") {
		t.Errorf("events %+v", first.events)
	}
	failed := newReport(o, newPlan(o), result{cluster: o.cluster, link: o.link, err: errors.New("ask BackupEnrollment acme/a: forbidden")})
	if message := readyMessage(failed.status); !strings.Contains(message, "acme/a: forbidden") {
		t.Errorf("a failure is not told: %s", message)
	}
	o.cluster.Status = first.status
	if second := reported(o); second.changed || len(second.events) > 0 {
		t.Errorf("events %+v, deletion %+v", second.events, second.status.Deletion)
	}
}

// Nothing may go on without a backup before that is on record.
func TestADeletionWaitsUntilWhatWasGivenUpIsRecorded(t *testing.T) {
	o := settled()
	backedUp(&o)
	stillThere(&o, "a")
	silentSince(&o, now.Add(-time.Hour))
	o.link.Phase = fleet.Unreachable
	o.now = now.Add(time.Hour)
	p := newPlan(o)
	if p.deletion.Record.Step != tenancyv1alpha1.DeletionRemovingTargets || len(p.deletion.GivenUp) != 1 {
		t.Fatalf("planned %+v", p.deletion)
	}
	said := newReport(o, p, result{cluster: o.cluster, link: o.link, unrecorded: true, err: errors.New("etcd is full")})
	if step := said.status.Deletion.Step; step != tenancyv1alpha1.DeletionFinalBackup || !strings.Contains(readyMessage(said.status), "etcd is full") {
		t.Errorf("step %s: %s", step, readyMessage(said.status))
	}
}

func TestWhatCannotBeLetGoIsReported(t *testing.T) {
	o := settled()
	deleted(&o)
	said := newReport(o, newPlan(o), result{cluster: o.cluster, releasing: true, err: errors.New("a webhook says no")})
	if said.status.Deletion.Step != tenancyv1alpha1.DeletionReleasing || said.status.ClusterID != "blue" || !strings.Contains(readyMessage(said.status), "a webhook says no") {
		t.Errorf("deletion %+v, cluster %s: %s", said.status.Deletion, said.status.ClusterID, readyMessage(said.status))
	}
}

func orphanOf(name string) tenancyv1alpha1.OrphanRecord {
	return tenancyv1alpha1.OrphanRecord{
		ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: name},
		Spec: tenancyv1alpha1.OrphanRecordSpec{
			Owner: tenancyv1alpha1.OrphanOwner{Kind: "AddonRelease", Namespace: "acme", Name: "cache"}, Message: "no answer",
		},
	}
}

func TestReportOfOrphans(t *testing.T) {
	o := settled()
	for i := range 5 {
		o.orphans = append(o.orphans, orphanOf(fmt.Sprint("prod.", i)))
	}
	status := reported(o).status
	got := conditionTexts(status, metav1alpha1.ConditionReady, tenancyv1alpha1.ConditionOrphansRecorded)
	if got != "Ready=True/Succeeded OrphansRecorded=True/OrphanRecordsExist" {
		t.Error(got)
	}
	o.cluster.Status = status
	if again := reported(o); again.changed {
		t.Errorf("the second report says %+v", again.status)
	}
	o.orphans = nil
	if left := conditionTexts(reported(o).status, tenancyv1alpha1.ConditionOrphansRecorded); left != "" {
		t.Errorf("it still says %s", left)
	}
}

func TestWhatClusterAPISaysOfARemovalIsOneLine(t *testing.T) {
	live := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "prod"}}
	live.Status.Conditions = []metav1.Condition{{
		Type: clusterv1.ClusterDeletingCondition, Status: metav1.ConditionTrue, Message: "* Control plane is being deleted\n* Workers:\n  * Machine a is drained",
	}}
	const want = "Cluster API removes Cluster prod: Control plane is being deleted; Workers:; Machine a is drained"
	if got := removal(live); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestAMissingSecretIsExplained(t *testing.T) {
	ref := secretReference{NamespacedName: types.NamespacedName{Namespace: "acme-clusters", Name: "prod-kubeconfig"}, key: defaultKey, from: "acme"}
	for name, test := range map[string]struct {
		change func(*observation)
		reason string
		says   string
	}{
		"imported":            {func(*observation) {}, tenancyv1alpha1.ReasonSecretNotFound, "create it"},
		"imported, deleted":   {deleted, tenancyv1alpha1.ReasonSecretNotFound, "create it"},
		"ordered":             {topologized, tenancyv1alpha1.ReasonProvisioning, "has not written Secret acme-clusters/prod-kubeconfig yet"},
		"ordered and deleted": {func(o *observation) { topologized(o); deleted(o) }, tenancyv1alpha1.ReasonSecretNotFound, "Secret acme-clusters/prod-kubeconfig, with which the cluster was reached, is gone"},
		"deleted before it was reached": {func(o *observation) { topologized(o); deleted(o); o.cluster.Status.ClusterID = "" },
			tenancyv1alpha1.ReasonProvisioning, "has not written Secret acme-clusters/prod-kubeconfig yet"},
	} {
		seen := settled()
		test.change(&seen)
		if got := missingSecret(seen.cluster, ref); got.reason != test.reason || !strings.Contains(got.message, test.says) {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

func topologized(o *observation) { o.cluster.Spec.Topology = &tenancyv1alpha1.ClusterTopology{} }
