package drdrill

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/repositorypassword"
)

// encrypted is a rehearsal of a policy that names a password.
func encrypted(mode backupv1alpha1.DrillMode, steps int) *backupv1alpha1.DRDrill {
	drill := rehearsal(mode, steps)
	drill.Status.Source.RepositoryPassword = &metav1alpha1.SecretKeyReference{Name: "repository", Key: "password"}
	return drill
}

func TestWhereADrillSetsThePassword(t *testing.T) {
	const published, ours = repositorypassword.Published, "correct horse battery"
	ephemeral, standby, recovery := encrypted(backupv1alpha1.DrillEphemeral, 1), encrypted(backupv1alpha1.DrillStandby, 1), encrypted(backupv1alpha1.DrillStandby, 1)
	recovery.Spec.Mode = backupv1alpha1.ModeRecover
	for name, row := range map[string]struct {
		drill *backupv1alpha1.DRDrill
		held  repositorypassword.Held
		set   bool
		says  string
	}{
		"a cluster of its own":       {ephemeral, repositorypassword.Held{UID: "1", Password: published}, true, ""},
		"before Velero has started":  {ephemeral, repositorypassword.Held{}, true, ""},
		"a recovery":                 {recovery, repositorypassword.Held{UID: "1", Password: published}, true, ""},
		"a rehearsal in a standby":   {standby, repositorypassword.Held{UID: "1", Password: published}, false, "name that one in a BackupPolicy"},
		"a standby that has it":      {standby, repositorypassword.Held{UID: "1", Password: ours, Owner: "BackupEnrollment acme/nightly"}, false, ""},
		"a recovery beside a policy": {recovery, repositorypassword.Held{UID: "1", Password: published, Owner: "BackupEnrollment acme/nightly"}, false, "belongs to BackupEnrollment acme/nightly"},
		"a recovery beside backups":  {recovery, repositorypassword.Held{UID: "1", Password: published, Repository: "velero/shop"}, false, "BackupRepository velero/shop"},
	} {
		set, problem := decidePassword(row.drill, row.held, repositorypassword.Password{Value: ours, Source: "key password of Secret acme/repository"})
		if set != row.set || (row.says == "") != (problem == "") || !strings.Contains(problem, row.says) {
			t.Errorf("%s: it is set: %t; %s", name, set, problem)
		}
		if strings.Contains(problem, ours) || strings.Contains(problem, published) {
			t.Errorf("%s: the problem tells a password: %s", name, problem)
		}
	}
}

func TestADrillGoesOnWithoutThePassword(t *testing.T) {
	const before = 8 // Steps of a drill in a standby before the restore.
	drill := encrypted(backupv1alpha1.DrillStandby, before)
	if move := new(Reconciler).Next(view{Run: drill, Now: noon}); move.Task == nil || move.Task.Name != taskPassword {
		t.Fatalf("the password is not looked at before the restore: %+v", move)
	}
	at := metav1.NewTime(noon)
	drill.Status.Tasks = append(drill.Status.Tasks, metav1alpha1.RunTask{Name: taskPassword, Outcome: metav1alpha1.ActionFailed, Message: "it belongs to somebody", StartedAt: at, EndedAt: &at})
	if move := new(Reconciler).Next(view{Run: drill, Now: noon}); move.Begin == nil || move.Begin.Action != actionRestore {
		t.Errorf("it does not restore what it can: %+v", move)
	}
	told := restoreCheck(&metav1alpha1.Action{UID: "made", Outcome: metav1alpha1.ActionFailed, Message: "PartiallyFailed with 1 errors"}, passwordProblem(drill))
	if !strings.Contains(told.Message, "PartiallyFailed") || !strings.Contains(told.Message, "it belongs to somebody") {
		t.Errorf("why volumes were not restored is not told: %s", told.Message)
	}
	beside := encrypted(backupv1alpha1.DrillNamespaceMapped, 1)
	if needsPassword(beside) || passwordProblem(beside) != "" {
		t.Error("a drill beside what was backed up has the password of its cluster")
	}
}
