package backupenrollment

import (
	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
)

// checkHooks returns a Verdict if a revision has hooks that the manager does not allow. The policy refuses new ones; a
// revision is older than a manager that was started again without the flag.
func (r *Reconciler) checkHooks(template backupv1alpha1.BackupTemplate) error {
	if template.Hooks == nil || r.AllowBackupHooks {
		return nil
	}
	return &target.Verdict{
		Reason: backupv1alpha1.ReasonHooksNotAllowed, Stalled: true,
		Message: "the policy's hooks run commands in pods, and this manager does not allow that: remove spec.template.hooks of the policy, or start the manager with --allow-backup-hooks. Until then, a Schedule with hooks keeps them",
	}
}
