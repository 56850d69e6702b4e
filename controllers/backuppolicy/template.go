package backuppolicy

import (
	"fmt"
	"slices"
	"time"

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

// veleroTimeout is how long Velero's own actions for an object may take by default (Velero 1.18, --item-operation-timeout).
const veleroTimeout = 4 * time.Hour

// checkRole returns what is wrong with how credentials are minted; nil for nothing.
func checkRole(spec backupv1alpha1.BackupPolicySpec) *Problem {
	if drills := spec.Storage.DrillCredentials; drills != nil && drills.AssumeRole != nil {
		return &Problem{"spec.storage.drillCredentials.assumeRole", "credentials for drills are not minted: name Secrets with secretName, or leave drillCredentials out, and drills use those of the cluster"}
	}
	role := spec.Storage.Credentials.AssumeRole
	if role == nil || role.Duration == nil {
		return nil
	}
	timeout := veleroTimeout
	if own := spec.Template.ItemOperationTimeout; own != nil {
		timeout = own.Duration
	}
	if role.Duration.Duration < 2*timeout {
		return &Problem{"spec.storage.credentials.assumeRole.duration", fmt.Sprintf("%s is less than twice the %s that a backup may take: choose a longer one, up to 12h, or a shorter spec.template.itemOperationTimeout", role.Duration.Duration, timeout)}
	}
	return nil
}

// checkTemplate returns what is wrong with what a backup is to hold; nil for nothing.
func (c Checker) checkTemplate(spec backupv1alpha1.BackupPolicySpec) *Problem {
	template := spec.Template
	if problem := checkRole(spec); problem != nil {
		return problem
	}
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
