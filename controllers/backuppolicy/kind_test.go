package backuppolicy

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// What is compared with a target is written into it: else its policy would write it for ever.
func TestATargetIsCurrentOnceItsSettingsWereWritten(t *testing.T) {
	hour := &metav1.Duration{Duration: time.Hour}
	policy := &backupv1alpha1.BackupPolicy{Spec: backupv1alpha1.BackupPolicySpec{
		Objectives: backupv1alpha1.PolicyObjectives{RecoveryObjectives: backupv1alpha1.RecoveryObjectives{RPO: hour, RTO: hour}, MaxDrillAge: hour},
		Schedule: backupv1alpha1.BackupSchedule{StartRules: backupv1alpha1.StartRules{
			Blackouts: []metav1alpha1.RecurringWindow{{Schedule: "@daily", Duration: *hour}}, CatchUp: ptr.To(false), StartingDeadline: hour,
		}},
		Drills:                []backupv1alpha1.DrillPlan{{Name: "weekly"}},
		AcceptPartiallyFailed: true, MinItems: ptr.To[int32](3), RequireVolumes: true,
		Retention: backupv1alpha1.BackupRetention{DeletionPolicy: backupv1alpha1.DeleteBackups},
		Storage: backupv1alpha1.BackupStorage{
			Credentials:           backupv1alpha1.StorageCredentials{SecretName: "storage-{{ .Cluster.Name }}"},
			RepositoryPasswordRef: &backupv1alpha1.RepositoryPasswordRef{SecretName: "repository-{{ .Cluster.Name }}", Key: "kopia"},
		},
	}}
	policy.Annotations = map[string]string{metav1alpha1.AnnotationBackupNow: "now"}
	target := &backupv1alpha1.BackupEnrollment{}
	target.Spec.ClusterRef, target.Spec.Revision = metav1alpha1.ClusterReference{Namespace: "acme", Name: "prod"}, "nightly-1"
	r := &Reconciler{}
	if r.SettingsCurrent(target, policy) {
		t.Fatal("an empty target is current")
	}
	r.SyncSettings(target, policy)
	if !r.SettingsCurrent(target, policy) {
		t.Errorf("what was written is not what is compared: %+v", target.Spec)
	}
	if password := target.Spec.RepositoryPassword; password == nil || password.Name != "repository-prod" || password.Key != "kopia" {
		t.Errorf("the password is %+v", password)
	}
	if target.Spec.CredentialsSecret != "storage-prod" || target.Spec.Revision != "nightly-1" || len(target.Spec.Drills) != 1 || target.Spec.BackupNow != "now" ||
		target.Spec.BackupDeletionPolicy != backupv1alpha1.DeleteBackups || !target.Spec.RequireVolumes || len(target.Spec.Schedule.Blackouts) != 1 {
		t.Errorf("got %+v", target.Spec)
	}
}
