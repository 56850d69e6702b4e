package backupenrollment

import (
	"testing"

	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/backuptest"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/history"
)

func TestARequestEndsWhenItsBackupIsRead(t *testing.T) {
	backup := backuptest.BackupAt(1, "Completed", 3, nil)
	for outcome, known := range map[string]history.AllDetails{
		"": nil, "Succeeded": {backuptest.IDAt(1): backuptest.WithVolumes(1, 1)}, "Failed": {backuptest.IDAt(1): backuptest.WithVolumes(0, 1)},
	} {
		if got := decide(history.Standard{RequireVolumes: true, Details: known})(backup); string(got.Outcome) != outcome || got.Message == "" {
			t.Errorf("got %+v, not %q", got, outcome)
		}
	}
}
