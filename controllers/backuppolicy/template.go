package backuppolicy

import (
	"slices"

	"k8s.io/utils/ptr"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/backupcontent"
)

// makesRepositories is whether backups store the data of volumes in repositories of Velero's.
func makesRepositories(template backupv1alpha1.BackupTemplate) bool {
	if ptr.Deref(template.DefaultVolumesToFsBackup, false) || ptr.Deref(template.SnapshotMoveData, false) {
		return true
	}
	return template.ResourcePolicies != nil && slices.ContainsFunc(template.ResourcePolicies.VolumePolicies, func(policy backupv1alpha1.VolumePolicy) bool {
		return policy.Action.Type == backupv1alpha1.FsBackupVolume
	})
}

// checkTemplate returns what is wrong with what a backup is to hold; nil for nothing.
func (c Checker) checkTemplate(spec backupv1alpha1.BackupPolicySpec) *Problem {
	template := spec.Template
	if makesRepositories(template) && spec.Storage.RepositoryPasswordRef == nil {
		return &Problem{"spec.storage.repositoryPasswordRef", "the template stores the data of volumes in repositories, and Velero's own password for them is known to everybody: name a Secret with another one"}
	}
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
