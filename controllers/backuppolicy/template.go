package backuppolicy

import (
	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/backupcontent"
)

// checkTemplate returns what is wrong with what a backup is to hold; nil for nothing.
func (c Checker) checkTemplate(template backupv1alpha1.BackupTemplate) *Problem {
	if template.Hooks != nil && !c.AllowBackupHooks {
		return &Problem{"spec.template.hooks", "hooks run commands in the pods of customers, and this manager does not allow that: remove them, or start the manager with --allow-backup-hooks"}
	}
	if policies := template.ResourcePolicies; policies != nil {
		if _, err := backupcontent.ResourcePoliciesFile(*policies); err != nil {
			return &Problem{"spec.template.resourcePolicies", err.Error()}
		}
	}
	return nil
}
