package backupenrollment

import (
	"errors"
	"testing"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
)

func TestHooksOfAnOldRevisionNeedTheFlagToo(t *testing.T) {
	hooked := backupv1alpha1.BackupTemplate{Hooks: &backupv1alpha1.BackupHooks{}}
	var verdict *target.Verdict
	if err := (&Reconciler{}).checkHooks(hooked); !errors.As(err, &verdict) || !verdict.Stalled || verdict.Reason != backupv1alpha1.ReasonHooksNotAllowed {
		t.Errorf("got %v", err)
	}
	if err := (&Reconciler{AllowBackupHooks: true}).checkHooks(hooked); err != nil {
		t.Error(err)
	}
	if err := (&Reconciler{}).checkHooks(backupv1alpha1.BackupTemplate{IncludedNamespaces: []string{"shop"}}); err != nil {
		t.Error(err)
	}
}
