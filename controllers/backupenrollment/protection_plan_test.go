package backupenrollment

import (
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/backuptest"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/history"
)

func TestDataOfVolumesNeedsAPassword(t *testing.T) {
	for name, row := range map[string]struct {
		inRepository int32
		password     *metav1alpha1.SecretKeyReference
		history      backupv1alpha1.StorageHistory
		want         string
	}{
		"no volume":                  {0, nil, backupv1alpha1.HistoryKept, "True Succeeded"},
		"volumes and no password":    {2, nil, backupv1alpha1.HistoryKept, "False RepositoryPasswordMissing"},
		"before a probe":             {2, nil, "", "False RepositoryPasswordMissing"},
		"volumes and a password":     {2, &metav1alpha1.SecretKeyReference{}, backupv1alpha1.HistoryKept, "True Succeeded"},
		"backups can be erased, too": {2, nil, backupv1alpha1.HistoryNotKept, "False HistoryNotKept"},
	} {
		o := enrolled(nil, 0)
		o.Target.Spec.RepositoryPassword = row.password
		o.Extra.storage.check = &backupv1alpha1.StorageCheck{History: row.history}
		run := backupv1alpha1.BackupRun{Name: "nightly-1", Phase: "Completed", EndedAt: ptrTo(backuptest.Noon), DetailsRead: true}
		run.Volumes = &backupv1alpha1.BackupVolumes{Total: ptr.To[int32](2), Covered: ptr.To[int32](2), InRepository: row.inRepository}
		got := protectionFinding(o, history.History{Runs: []backupv1alpha1.BackupRun{run}})
		if told := string(got.status) + " " + got.reason; told != row.want {
			t.Errorf("%s: it is %s: %s", name, told, got.message)
		}
		missing := row.inRepository > 0 && row.password == nil
		if strings.Contains(got.message, "repositoryPasswordRef") != missing {
			t.Errorf("%s: it says %s", name, got.message)
		}
	}
}
