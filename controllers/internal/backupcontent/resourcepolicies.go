package backupcontent

import (
	"fmt"

	"sigs.k8s.io/yaml"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
)

// MaxResourcePolicies is how large the text of resource policies may be, in bytes. Velero reads it for every volume.
const MaxResourcePolicies = 16 << 10

// actionTypes are what Velero calls the actions of volume policies.
var actionTypes = map[backupv1alpha1.VolumeActionType]string{
	backupv1alpha1.SkipVolume: "skip", backupv1alpha1.FsBackupVolume: "fs-backup", backupv1alpha1.SnapshotVolume: "snapshot",
}

// veleroPolicies is the file that Velero reads from a ConfigMap. It refuses fields that it does not know.
type veleroPolicies struct {
	Version        string               `json:"version"`
	VolumePolicies []veleroVolumePolicy `json:"volumePolicies"`
}

type veleroVolumePolicy struct {
	Conditions backupv1alpha1.VolumeConditions `json:"conditions"`
	Action     veleroAction                    `json:"action"`
}

type veleroAction struct {
	Type string `json:"type"`
}

// ResourcePoliciesFile writes resource policies as Velero reads them, in YAML of version v1. It fails for an action that is
// unknown, and for more than MaxResourcePolicies bytes.
func ResourcePoliciesFile(policies backupv1alpha1.ResourcePolicies) (string, error) {
	file := veleroPolicies{Version: "v1"}
	for i, policy := range policies.VolumePolicies {
		action, known := actionTypes[policy.Action.Type]
		if !known {
			return "", fmt.Errorf("volumePolicies[%d].action.type is %q: use Skip, FsBackup or Snapshot", i, policy.Action.Type)
		}
		file.VolumePolicies = append(file.VolumePolicies, veleroVolumePolicy{Conditions: policy.Conditions, Action: veleroAction{action}})
	}
	text, err := yaml.Marshal(file)
	if err != nil {
		return "", fmt.Errorf("write the resource policies: %w", err)
	}
	if len(text) > MaxResourcePolicies {
		return "", fmt.Errorf("the volume policies take %d bytes, more than the %d that they may: merge some, or name fewer labels and attributes", len(text), MaxResourcePolicies)
	}
	return string(text), nil
}
