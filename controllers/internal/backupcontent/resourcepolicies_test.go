package backupcontent

import (
	"strings"
	"testing"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
)

func policyOfType(action backupv1alpha1.VolumeActionType, conditions backupv1alpha1.VolumeConditions) backupv1alpha1.VolumePolicy {
	return backupv1alpha1.VolumePolicy{Conditions: conditions, Action: backupv1alpha1.VolumeAction{Type: action}}
}

func TestVeleroReadsTheResourcePolicies(t *testing.T) {
	for name, test := range map[string]struct {
		policies []backupv1alpha1.VolumePolicy
		want     string
	}{
		"one for all volumes": {
			[]backupv1alpha1.VolumePolicy{policyOfType(backupv1alpha1.SnapshotVolume, backupv1alpha1.VolumeConditions{})},
			"version: v1\nvolumePolicies:\n- action:\n    type: snapshot\n  conditions: {}\n",
		},
		"several, in their order": {
			[]backupv1alpha1.VolumePolicy{
				policyOfType(backupv1alpha1.SkipVolume, backupv1alpha1.VolumeConditions{
					Capacity: "10Gi,", NFS: &backupv1alpha1.NFSVolumeCondition{}, VolumeTypes: []backupv1alpha1.VolumeType{"emptyDir"},
				}),
				policyOfType(backupv1alpha1.FsBackupVolume, backupv1alpha1.VolumeConditions{
					StorageClass: []string{"fast"}, PVCLabels: map[string]string{"tier": "1"},
				}),
			},
			"version: v1\nvolumePolicies:\n" +
				"- action:\n    type: skip\n  conditions:\n    capacity: 10Gi,\n    nfs: {}\n    volumeTypes:\n    - emptyDir\n" +
				"- action:\n    type: fs-backup\n  conditions:\n    pvcLabels:\n      tier: \"1\"\n    storageClass:\n    - fast\n",
		},
	} {
		got, err := ResourcePoliciesFile(backupv1alpha1.ResourcePolicies{VolumePolicies: test.policies})
		if err != nil || got != test.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, got, test.want)
		}
	}
}

func TestResourcePoliciesThatVeleroWouldNotTakeAreRefused(t *testing.T) {
	large := policyOfType(backupv1alpha1.SkipVolume, backupv1alpha1.VolumeConditions{
		CSI: &backupv1alpha1.CSIVolumeCondition{Driver: "csi.example.com", VolumeAttributes: map[string]string{"a": strings.Repeat("x", 1024)}},
	})
	for name, test := range map[string]struct {
		policies []backupv1alpha1.VolumePolicy
		word     string
	}{
		"an unknown action": {[]backupv1alpha1.VolumePolicy{policyOfType("Shred", backupv1alpha1.VolumeConditions{})}, "volumePolicies[0].action.type"},
		"17 KiB": {[]backupv1alpha1.VolumePolicy{
			large, large, large, large, large, large, large, large, large, large, large, large, large, large, large, large, large,
		}, "more than the 16384"},
	} {
		_, err := ResourcePoliciesFile(backupv1alpha1.ResourcePolicies{VolumePolicies: test.policies})
		if err == nil || !strings.Contains(err.Error(), test.word) {
			t.Errorf("%s: %v, not %q", name, err, test.word)
		}
	}
}
