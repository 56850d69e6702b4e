package drdrill

import (
	"strings"
	"testing"

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
