package drdrill

import (
	"slices"
	"testing"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/backupstore"
)

func TestABackupThatLacksVolumesIsNotRehearsed(t *testing.T) {
	enrollment := &backupv1alpha1.BackupEnrollment{}
	enrollment.Status.Runs = []backupv1alpha1.BackupRun{
		{Name: "unread"}, {Name: "lacking", DetailsRead: true, Problem: "volume shop/data was not backed up: no driver"}, {Name: "whole", DetailsRead: true},
	}
	backups := []backupstore.Backup{{Name: "unread"}, {Name: "lacking"}, {Name: "whole"}, {Name: "old"}}
	for name, row := range map[string]struct {
		required bool
		choice   backupv1alpha1.BackupSelection
		want     []string
	}{
		"nobody asks for volumes": {false, backupv1alpha1.BackupLatest, []string{"unread", "lacking", "whole", "old"}},
		"the policy does":         {true, backupv1alpha1.BackupLatest, []string{"whole", "old"}},
		"the drill names one":     {true, backupv1alpha1.BackupNamed, []string{"unread", "lacking", "whole", "old"}},
	} {
		t.Run(name, func(t *testing.T) {
			drill := &backupv1alpha1.DRDrill{}
			drill.Spec.Backup.Select, enrollment.Spec.RequireVolumes = row.choice, row.required
			var got []string
			for _, one := range withVolumes(drill, backups, enrollment) {
				got = append(got, one.Name)
			}
			if !slices.Equal(got, row.want) {
				t.Errorf("got %v", got)
			}
		})
	}
}
