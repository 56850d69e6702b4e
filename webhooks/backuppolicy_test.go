package webhooks

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// backupPolicy is one that nobody refuses.
func backupPolicy(namespace string) *backupv1alpha1.BackupPolicy {
	return &backupv1alpha1.BackupPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "nightly-"},
		Spec: backupv1alpha1.BackupPolicySpec{
			PolicySpec: metav1alpha1.PolicySpec{ClusterNames: []string{"prod"}},
			Schedule:   backupv1alpha1.BackupSchedule{Recurrence: backupv1alpha1.Recurrence{Cron: "@daily"}},
			Storage:    backupv1alpha1.BackupStorage{Bucket: "backups", Region: "eu", Credentials: backupv1alpha1.StorageCredentials{SecretName: "storage"}},
		},
	}
}

func skipping(conditions backupv1alpha1.VolumeConditions) *backupv1alpha1.ResourcePolicies {
	return &backupv1alpha1.ResourcePolicies{VolumePolicies: []backupv1alpha1.VolumePolicy{
		{Conditions: conditions, Action: backupv1alpha1.VolumeAction{Type: backupv1alpha1.SkipVolume}},
	}}
}

func hooked(command ...string) *backupv1alpha1.BackupHooks {
	hook := backupv1alpha1.BackupHook{Exec: backupv1alpha1.ExecHook{Command: command}}
	return &backupv1alpha1.BackupHooks{Resources: []backupv1alpha1.BackupResourceHooks{{Name: "flush", Pre: []backupv1alpha1.BackupHook{hook}}}}
}

func TestTemplatesThatVeleroCannotCarryOutAreRefused(t *testing.T) {
	namespace := newNamespace(t)
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "web"}}
	for name, test := range map[string]struct {
		template backupv1alpha1.BackupTemplate
		// words of the refusal; none if it is taken.
		words []string
	}{
		"nothing":        {backupv1alpha1.BackupTemplate{}, nil},
		"one selector":   {backupv1alpha1.BackupTemplate{OrLabelSelectors: []metav1.LabelSelector{*selector}}, nil},
		"both selectors": {backupv1alpha1.BackupTemplate{LabelSelector: selector, OrLabelSelectors: []metav1.LabelSelector{*selector}}, []string{"exclude each other"}},
		"a timeout":      {backupv1alpha1.BackupTemplate{CSISnapshotTimeout: &metav1.Duration{Duration: 30 * time.Minute}}, nil},
		"a short timeout": {backupv1alpha1.BackupTemplate{CSISnapshotTimeout: &metav1.Duration{Duration: time.Second}},
			[]string{"csiSnapshotTimeout is from 1m to 24h"}},
		"a long timeout": {backupv1alpha1.BackupTemplate{ItemOperationTimeout: &metav1.Duration{Duration: 25 * time.Hour}},
			[]string{"itemOperationTimeout is from 1m to 24h"}},
		"many uploads":   {backupv1alpha1.BackupTemplate{UploaderConfig: &backupv1alpha1.UploaderConfig{ParallelFilesUpload: 65}}, []string{"parallelFilesUpload"}},
		"a range":        {backupv1alpha1.BackupTemplate{ResourcePolicies: skipping(backupv1alpha1.VolumeConditions{Capacity: "900Mi,1Gi"})}, nil},
		"half a range":   {backupv1alpha1.BackupTemplate{ResourcePolicies: skipping(backupv1alpha1.VolumeConditions{Capacity: ",1Gi"})}, nil},
		"no range":       {backupv1alpha1.BackupTemplate{ResourcePolicies: skipping(backupv1alpha1.VolumeConditions{Capacity: "large"})}, []string{"volumePolicies[0].conditions.capacity"}},
		"a turned range": {backupv1alpha1.BackupTemplate{ResourcePolicies: skipping(backupv1alpha1.VolumeConditions{Capacity: "1Gi,900Mi"})}, []string{"first end is not greater"}},
		"no such type":   {backupv1alpha1.BackupTemplate{ResourcePolicies: skipping(backupv1alpha1.VolumeConditions{VolumeTypes: []backupv1alpha1.VolumeType{"tape"}})}, []string{"volumeTypes[0]"}},
		"no driver": {backupv1alpha1.BackupTemplate{ResourcePolicies: skipping(backupv1alpha1.VolumeConditions{
			CSI: &backupv1alpha1.CSIVolumeCondition{VolumeAttributes: map[string]string{"a": "b"}},
		})}, []string{"belong to a driver"}},
		"hooks without the flag": {backupv1alpha1.BackupTemplate{Hooks: hooked("/bin/flush")}, []string{"spec.template.hooks", "--allow-backup-hooks"}},
		"hooks without commands": {backupv1alpha1.BackupTemplate{Hooks: hooked()}, []string{"pre[0].exec"}},
	} {
		policy := backupPolicy(namespace)
		policy.Spec.Template = test.template
		err := admin.Create(t.Context(), policy)
		if len(test.words) == 0 {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		t.Run(name, func(t *testing.T) { expectRefusal(t, err, test.words...) })
	}
}

func TestRepositoriesNeedAPasswordOfTheirOwn(t *testing.T) {
	namespace := newNamespace(t)
	copying := skipping(backupv1alpha1.VolumeConditions{})
	copying.VolumePolicies[0].Action.Type = backupv1alpha1.FsBackupVolume
	for name, template := range map[string]backupv1alpha1.BackupTemplate{
		"files":           {DefaultVolumesToFsBackup: ptr.To(true)},
		"moved snapshots": {SnapshotMoveData: ptr.To(true)},
		"a volume policy": {ResourcePolicies: copying},
	} {
		t.Run(name, func(t *testing.T) {
			policy := backupPolicy(namespace)
			policy.Spec.Template = template
			expectRefusal(t, admin.Create(t.Context(), policy), "spec.storage.repositoryPasswordRef", "known to everybody")
			policy.Spec.Storage.RepositoryPasswordRef = &backupv1alpha1.RepositoryPasswordRef{SecretName: "repository-{{ .Cluster.Name }}"}
			must(t, admin.Create(t.Context(), policy))
			if key := policy.Spec.Storage.RepositoryPasswordRef.Key; key != "password" {
				t.Errorf("the key is %q", key)
			}
			policy.Spec.Storage.RepositoryPasswordRef = nil
			expectRefusal(t, admin.Update(t.Context(), policy), "spec.storage.repositoryPasswordRef")
		})
	}
}

func TestCustomersDoNotShareAPasswordUnnoticed(t *testing.T) {
	policy := backupPolicy(newNamespace(t))
	policy.Spec.ClusterNamespaceSelector = &metav1.LabelSelector{}
	policy.Spec.Storage.Credentials.AllowShared = true
	policy.Spec.Storage.RepositoryPasswordRef = &backupv1alpha1.RepositoryPasswordRef{SecretName: "repository"}
	expectRefusal(t, admin.Create(t.Context(), policy), "spec.storage.repositoryPasswordRef.secretName", "allowShared")
	policy.Spec.Storage.RepositoryPasswordRef.AllowShared = true
	must(t, admin.Create(t.Context(), policy))
}

func TestHooksThatAreAddedLaterAreRefusedToo(t *testing.T) {
	policy := backupPolicy(newNamespace(t))
	must(t, admin.Create(t.Context(), policy))
	policy.Spec.Template.Hooks = hooked("/bin/flush")
	expectRefusal(t, admin.Update(t.Context(), policy), "spec.template.hooks", "--allow-backup-hooks")
}
