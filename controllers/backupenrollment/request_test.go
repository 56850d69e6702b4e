package backupenrollment

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/backuptest"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/veleroobjects"
	"github.com/daytwo-dev/daytwo/controllers/internal/action"
)

func TestWhoAsksForABackupGetsOne(t *testing.T) {
	before := &backupv1alpha1.RequestedBackup{Policy: "p1", Enrollment: "e1", Cluster: "c1"}
	for name, test := range map[string]struct {
		policy, enrollment, cluster string
		before                      *backupv1alpha1.RequestedBackup
		differs                     bool
	}{
		"nobody":                          {},
		"the policy":                      {policy: "p1", differs: true},
		"the cluster":                     {cluster: "c1", differs: true},
		"all, as before":                  {policy: "p1", enrollment: "e1", cluster: "c1", before: before},
		"one of them, anew":               {policy: "p1", enrollment: "e2", cluster: "c1", before: before, differs: true},
		"one of them no more":             {policy: "p1", cluster: "c1", before: before},
		"one no more, and another anew":   {policy: "p2", cluster: "c1", before: before, differs: true},
		"a request that was there before": {enrollment: "e1", before: before},
	} {
		enrollment := &backupv1alpha1.BackupEnrollment{}
		enrollment.Spec.BackupNow = test.policy
		enrollment.Annotations = map[string]string{metav1alpha1.AnnotationBackupNow: test.enrollment}
		tenant := &tenancyv1alpha1.TenantCluster{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{metav1alpha1.AnnotationBackupNow: test.cluster}}}
		if got := differs(askedFor(enrollment, tenant), test.before); got != test.differs {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestARequestIsFollowedToItsEnd goes through what a manager may find after it was killed, too.
func TestARequestIsFollowedToItsEnd(t *testing.T) {
	o := enrolled(shown(locationAt("Available", "", time.Minute)), 0)
	o.Target.Name, o.Target.UID = "nightly-prod", "uid"
	o.Target.Annotations = map[string]string{metav1alpha1.AnnotationBackupNow: "now"}
	for _, phase := range []string{"", "Unavailable"} {
		o.Extra.velero = shown(locationAt(phase, "", time.Minute))
		if early := requestOf(o, "cluster-1"); early != nil {
			t.Errorf("with storage that is %q, which Velero refuses backups for, it begins: %+v", phase, early)
		}
	}
	o.Extra.velero = shown(locationAt("Available", "", time.Minute))
	first := requestOf(o, "cluster-1")
	if first == nil || !first.isNew || first.step != action.Make || !strings.HasPrefix(first.Action.Object, "velero.io/v1/Backup/velero/nightly-prod-backup-") {
		t.Fatalf("got %+v", first)
	}
	o.Status.Requested = first.DeepCopy()
	if again := requestOf(o, "cluster-1"); again.isNew || again.step != action.Make || again.Action.Object != first.Action.Object {
		t.Errorf("a manager that was killed before it made the backup: %+v", again)
	}
	o.Extra.velero = shown(locationAt("Unavailable", "", time.Minute))
	if waiting := requestOf(o, "cluster-1"); waiting.step != action.Wait || waiting.ended {
		t.Errorf("while Velero would refuse it: %+v", waiting)
	}
	name := first.Action.Object[strings.LastIndex(first.Action.Object, "/")+1:]
	made := func(phase string) *unstructured.Unstructured {
		backup := backuptest.BackupAt(0, phase, 3, nil)
		backup.SetGroupVersionKind(veleroobjects.BackupKind)
		backup.SetNamespace("velero")
		backup.SetName(name)
		backup.SetUID("made")
		return backup
	}
	o.Extra.velero = shown(nil, made("InProgress"))
	if running := requestOf(o, "cluster-1"); running.step != action.Wait || running.ended || running.Action.UID != "made" {
		t.Errorf("while it runs: %+v", running)
	}
	o.Extra.velero = shown(nil, made("Completed"))
	if done := requestOf(o, "cluster-1"); !done.ended || done.Action.Outcome != metav1alpha1.ActionSucceeded || warningOf(done) != nil {
		t.Errorf("when it is done: %+v", done)
	}
	o.Extra.velero = shown(nil, made("Failed"))
	failed := requestOf(o, "cluster-1")
	if failed.Action.Outcome != metav1alpha1.ActionFailed || warningOf(failed) == nil {
		t.Errorf("when it failed: %+v", failed)
	}
	if elsewhere := requestOf(o, "cluster-2"); elsewhere.Action.Outcome != metav1alpha1.ActionFailed || !strings.Contains(elsewhere.Action.Message, "another cluster") {
		t.Errorf("in another cluster: %+v", elsewhere)
	}
	o.Status.Requested = failed.DeepCopy()
	if next := requestOf(o, "cluster-1"); next != nil {
		t.Errorf("it is made again though nobody asked: %+v", next)
	}
}
