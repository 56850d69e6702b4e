package drdrill

import (
	"fmt"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/repositorypassword"
)

// needsPassword is whether Velero in the cluster of a drill has to have the password of the cluster that was backed up.
func needsPassword(drill *backupv1alpha1.DRDrill) bool {
	source := drill.Status.Source
	return source != nil && source.RepositoryPassword != nil && drill.Spec.Target.Mode != backupv1alpha1.DrillNamespaceMapped
}

// maySetPassword is whether a drill changes the password in the cluster into which it restores: in one of its own, or in one that
// is to take the place of the one that was backed up. A standby is left as it is by a rehearsal.
func maySetPassword(drill *backupv1alpha1.DRDrill) bool { return isEphemeral(drill) || recovers(drill) }

// decidePassword is whether Velero gets the password in a cluster where it has another one. The problem says why it does not.
func decidePassword(drill *backupv1alpha1.DRDrill, held repositorypassword.Held, wanted repositorypassword.Password) (set bool, problem string) {
	where := fmt.Sprintf("%s of TenantCluster %s", repositorypassword.RefOf(drill.Status.Source.VeleroNamespace), targetKey(drill))
	switch {
	case held.Is(wanted):
		return false, ""
	case held.Owner != "":
		return false, fmt.Sprintf("%s belongs to %s and holds another password than %s: name the same one there", where, held.Owner, wanted.Source)
	case held.Repository != "":
		return false, fmt.Sprintf("%s holds another password than %s, and BackupRepository %s is encrypted with it: restore into another cluster", where, wanted.Source, held.Repository)
	case !maySetPassword(drill):
		return false, fmt.Sprintf("%s holds another password than %s: name that one in a BackupPolicy for the cluster, or write it there", where, wanted.Source)
	}
	return true, ""
}

// passwordProblem says why Velero could not read the data of volumes; empty if it can.
func passwordProblem(drill *backupv1alpha1.DRDrill) string {
	task := drill.Status.Task(taskPassword)
	if task == nil || task.Outcome == metav1alpha1.ActionSucceeded {
		return ""
	}
	return "the password of Velero's repositories is not there: " + task.Message
}
