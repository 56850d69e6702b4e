package backuppolicy

import (
	"cmp"
	"context"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/targetstate"
)

// reasons of a BackupEnrollment that is not Ready.
var reasons = targetstate.Reasons{
	Progressing: []string{metav1alpha1.ReasonWaiting, backupv1alpha1.ReasonStorageNotChecked},
	Unusable:    []string{metav1alpha1.ReasonKindUnavailable},
}

// NewPolicy implements policy.Kind.
func (r *Reconciler) NewPolicy() *backupv1alpha1.BackupPolicy { return &backupv1alpha1.BackupPolicy{} }

// NewTarget implements policy.Kind.
func (r *Reconciler) NewTarget() *backupv1alpha1.BackupEnrollment {
	return &backupv1alpha1.BackupEnrollment{}
}

// CopyStatus implements policy.Kind.
func (r *Reconciler) CopyStatus(to, from *backupv1alpha1.BackupPolicy) {
	to.Status = *from.Status.DeepCopy()
}

// CopySpec implements policy.Kind.
func (r *Reconciler) CopySpec(to, from *backupv1alpha1.BackupEnrollment) {
	to.Spec = *from.Spec.DeepCopy()
}

// SyncSettings implements policy.Kind.
func (r *Reconciler) SyncSettings(target *backupv1alpha1.BackupEnrollment, backups *backupv1alpha1.BackupPolicy) {
	target.Spec = *wanted(target, backups).DeepCopy()
}

// SettingsCurrent implements policy.Kind.
func (r *Reconciler) SettingsCurrent(target *backupv1alpha1.BackupEnrollment, backups *backupv1alpha1.BackupPolicy) bool {
	return equality.Semantic.DeepEqual(&target.Spec, wanted(target, backups))
}

// wanted is the spec of a target with all that it takes from its policy at once.
func wanted(target *backupv1alpha1.BackupEnrollment, backups *backupv1alpha1.BackupPolicy) *backupv1alpha1.BackupEnrollmentSpec {
	drillSecret := ""
	if drills := backups.Spec.Storage.DrillCredentials; drills != nil {
		drillSecret = secretFor(target.Spec.ClusterRef, drills.SecretName)
	}
	access := backups.Spec.Storage.Credentials
	secret := secretFor(target.Spec.ClusterRef, access.SecretName)
	if access.AssumeRole != nil {
		secret = mintedSecret(target.Spec.ClusterRef, backups)
	}
	return &backupv1alpha1.BackupEnrollmentSpec{
		TargetSpec:             target.Spec.TargetSpec,
		CredentialsSecret:      secret,
		AssumeRole:             access.AssumeRole,
		DrillCredentialsSecret: drillSecret,
		RepositoryPassword:     passwordFor(target.Spec.ClusterRef, backups.Spec.Storage.RepositoryPasswordRef),
		Objectives:             backups.Spec.Objectives,
		Drills:                 backups.Spec.Drills,
		Evidence:               backups.Spec.Evidence,
		Schedule:               backups.Spec.Schedule.StartRules,
		AcceptPartiallyFailed:  backups.Spec.AcceptPartiallyFailed,
		MinItems:               backups.Spec.MinItems,
		RequireVolumes:         backups.Spec.RequireVolumes,
		BackupDeletionPolicy:   cmp.Or(backups.Spec.Retention.DeletionPolicy, backupv1alpha1.KeepBackups),
		BackupNow:              metav1alpha1.BackupRequested(backups),
		Drift:                  backups.Spec.Drift.WithDefaults(),
	}
}

// passwordFor names the Secret with the password of a cluster's repositories; nil for none.
func passwordFor(cluster metav1alpha1.ClusterReference, ref *backupv1alpha1.RepositoryPasswordRef) *metav1alpha1.SecretKeyReference {
	if ref == nil {
		return nil
	}
	return &metav1alpha1.SecretKeyReference{Name: secretFor(cluster, ref.SecretName), Key: ref.Key}
}

// secretFor writes a cluster's name into that of its Secret.
func secretFor(cluster metav1alpha1.ClusterReference, pattern string) string {
	return strings.NewReplacer("{{ .Cluster.Name }}", cluster.Name, "{{ .Cluster.Namespace }}", cluster.Namespace).Replace(pattern)
}

// maxSecretName is how long the name of a Secret with temporary credentials may be.
const maxSecretName = 63

// mintedSecret is the name of the Secret with the temporary credentials of a cluster.
func mintedSecret(cluster metav1alpha1.ClusterReference, backups *backupv1alpha1.BackupPolicy) string {
	return objects.ShortName(maxSecretName, backups.Name+"-"+cluster.Name+"-minted", backups.Name+"/"+cluster.Namespace+"/"+cluster.Name)
}

// State implements policy.Kind.
func (r *Reconciler) State(target *backupv1alpha1.BackupEnrollment) (rollout.State, string) {
	return reasons.State(target)
}

// Objects implements policy.Kind.
func (r *Reconciler) Objects(target *backupv1alpha1.BackupEnrollment) []string {
	return target.Status.ObjectIDs()
}

// Forget implements policy.Kind: nothing is remembered.
func (r *Reconciler) Forget(types.NamespacedName) {}

// Withdrawal says what the guard would make of the clusters that a policy loses if it is as given.
func Withdrawal(
	ctx context.Context, cached client.Client, backups *backupv1alpha1.BackupPolicy, providerNamespace string, now time.Time,
) (rollout.Withdrawal, error) {
	return policy.Withdrawal(ctx, cached, &Reconciler{}, backups, providerNamespace, now)
}
