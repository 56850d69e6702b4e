package drdrill

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

func TestEvidenceIsCopiedWhereThePolicyHasABucketForIt(t *testing.T) {
	drill := rehearsal(backupv1alpha1.DrillNamespaceMapped, 0)
	drill.Name, drill.UID = strings.Repeat("w", 253), "1"
	if made := copyFor(drill, nil); made != nil {
		t.Errorf("without a bucket: %+v", made)
	}
	made := copyFor(drill, &backupv1alpha1.EvidenceStorage{Bucket: "proofs", Prefix: "daytwo-evidence"})
	if prefix := "daytwo-evidence/" + drill.Namespace + "/" + drill.Spec.PolicyName + "/"; !strings.HasPrefix(made.Key, prefix) || !strings.HasSuffix(made.Key, ".json") {
		t.Errorf("the key is %s", made.Key)
	}
	if last := made.Key[strings.LastIndex(made.Key, "/")+1:]; len(last)+len(".sig") > 255 {
		t.Errorf("a file system has no room for the name %s", last)
	}
	again := drill.DeepCopy()
	if again.UID = "2"; copyFor(again, &backupv1alpha1.EvidenceStorage{Bucket: "proofs", Prefix: "daytwo-evidence"}).Key == made.Key {
		t.Error("another drill of that name writes over it")
	}
}

func TestTheTimelineTellsForHowLongWorkloadsWereWaitedFor(t *testing.T) {
	at := func(seconds int) metav1.Time { return metav1.NewTime(noon.Add(time.Duration(seconds) * time.Second)) }
	ended := at(20)
	status := &backupv1alpha1.DRDrillStatus{}
	status.Actions = []metav1alpha1.Action{{Name: actionRestore, StartedAt: at(5)}, {Name: "job-query", StartedAt: at(50)}}
	status.Tasks = []metav1alpha1.RunTask{
		{Name: taskVerify, StartedAt: at(15), EndedAt: &ended}, {Name: taskAssert, StartedAt: at(45)}, {Name: taskEvidence, StartedAt: at(60)},
	}
	if waited, ok := readinessStep(status); ok {
		t.Errorf("before anything is known of them: %+v", waited)
	}
	for result, outcome := range map[backupv1alpha1.CheckResult]metav1alpha1.ActionOutcome{
		backupv1alpha1.CheckPassed: metav1alpha1.ActionSucceeded, backupv1alpha1.CheckFailed: metav1alpha1.ActionTimedOut,
	} {
		status.Checks = []backupv1alpha1.DrillCheck{{Name: backupv1alpha1.CheckReadiness, Result: result}}
		waited, ok := readinessStep(status)
		if !ok || !waited.StartedAt.Equal(ended.Time) || !waited.EndedAt.Equal(noon.Add(45*time.Second)) || waited.Outcome != string(outcome) {
			t.Errorf("%s: %+v", result, waited)
		}
	}
}

func TestAVerdictStandsWhereItsEvidenceCannotBeCopied(t *testing.T) {
	drill := rehearsal(backupv1alpha1.DrillNamespaceMapped, 0)
	drill.Status.Verdict = backupv1alpha1.DrillFailed
	drill.Status.Evidence = &backupv1alpha1.DrillEvidence{ConfigMapName: "weekly-evidence-1", Copy: &backupv1alpha1.EvidenceCopy{Bucket: "proofs"}}
	drill.Status.Tasks = append(drill.Status.Tasks, metav1alpha1.RunTask{Name: taskEvidence, Outcome: metav1alpha1.ActionSucceeded})
	next := new(Reconciler).Next(view{Run: drill, Now: noon})
	if next.Task == nil || next.Task.Name != taskCopy {
		t.Fatalf("after the evidence comes %+v", next)
	}
	drill.Status.Tasks = append(drill.Status.Tasks, metav1alpha1.RunTask{Name: taskCopy, Outcome: metav1alpha1.ActionTimedOut, Message: "no answer"})
	next = new(Reconciler).Next(view{Run: drill, Now: noon})
	if next.Outcome != metav1alpha1.RunFailed || !strings.HasSuffix(next.Message, "; its evidence is in ConfigMap weekly-evidence-1 alone: no answer") {
		t.Errorf("it ends with %+v", next)
	}
}
