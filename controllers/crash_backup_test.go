package controllers

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
)

// backupEnv has a real Velero in its workload cluster, and an S3 bucket. Neither is behind the failpoint.
type backupEnv struct {
	*crashEnv
	storage localfleet.Storage
}

// TestKilledInTheLifeOfABackupPolicyItEndsWhereAnUndisturbedRunEnds lets policies be made, asked for a backup, changed and
// deleted with all of their backups, one after the other. In the first, the manager is killed after the first write of each
// of the four, in the second after the second one, until it makes no more writes. No backup is made twice.
func TestKilledInTheLifeOfABackupPolicyItEndsWhereAnUndisturbedRunEnds(t *testing.T) {
	t.Parallel()
	w := newBackupEnv(t)
	w.liveAll(t, sampledKills, w.describe, []lifePhase{
		{"enrollment", w.enroll, w.isNotReady},
		{"backup", w.askForBackup, w.isNotBackedUp},
		{"change", w.changePolicy, w.isNotReady},
		{"deletion", w.deletePolicy, w.isNotGone},
	})
}

// TestKilledInARehearsalItEndsWhereAnUndisturbedRunEnds lets backups be rehearsed one after the other. Each drill makes its
// sandbox and one Restore, comes to its verdict, and leaves nothing.
func TestKilledInARehearsalItEndsWhereAnUndisturbedRunEnds(t *testing.T) {
	t.Parallel()
	const sampled = 12 // A drill makes some 65 writes, and a life takes six seconds.
	w := newBackupEnv(t)
	w.enroll("rehearsed")
	w.await(func() string { return w.isNotReady("rehearsed") })
	w.askForBackup("rehearsed")
	w.await(func() string { return w.isNotBackedUp("rehearsed") })
	w.liveAll(t, sampled, w.describe, []lifePhase{
		{"rehearsal", w.rehearse, w.isNotRehearsed},
		{"deletion", w.deleteDrill, w.isDrillNotGone},
	})
}

func newBackupEnv(t *testing.T) *backupEnv {
	t.Helper()
	w := &backupEnv{crashEnv: newEmptyEnvWith(t, localfleet.Options{Clusters: 1, ClusterOptions: localfleet.ClusterOptions{Velero: true}})}
	var err error
	if w.storage, err = w.fleet.Storage(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.fleet.CreateBucket("backups"); err != nil {
		t.Fatal(err)
	}
	w.make(w.management,
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "storage"}, StringData: map[string]string{
			"aws_access_key_id": w.storage.AccessKey, "aws_secret_access_key": w.storage.SecretKey,
		}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "storage-ca"}, Data: map[string]string{"ca.crt": string(w.storage.CA)}})
	w.make(w.workload,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "settings"}, Data: map[string]string{"colour": "blue"}})
	w.register(w.workloadProxy.kubeconfig(t))
	w.start()
	return w
}

func (w *backupEnv) make(in client.Client, objects ...client.Object) {
	w.t.Helper()
	for _, object := range objects {
		if err := in.Create(w.t.Context(), object); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *backupEnv) enroll(name string) {
	w.t.Helper()
	w.make(w.management, &backupv1alpha1.BackupPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: backupv1alpha1.BackupPolicySpec{
			PolicySpec: metav1alpha1.PolicySpec{ClusterNames: []string{"prod"}},
			Schedule:   backupv1alpha1.BackupSchedule{Recurrence: backupv1alpha1.Recurrence{Cron: inHalfAYear()}},
			Template:   backupv1alpha1.BackupTemplate{IncludedNamespaces: []string{"shop"}},
			Storage: backupv1alpha1.BackupStorage{
				Bucket: "backups", Region: w.storage.Region, Endpoint: w.storage.Endpoint, CARef: &backupv1alpha1.ConfigMapKey{Name: "storage-ca"},
				Credentials: backupv1alpha1.StorageCredentials{SecretName: "storage"},
			},
			Retention: backupv1alpha1.BackupRetention{
				TTL: &metav1.Duration{Duration: 24 * time.Hour}, DeletionPolicy: backupv1alpha1.DeleteBackups,
			},
		},
	})
}

// inHalfAYear is when no test runs.
func inHalfAYear() string {
	return fmt.Sprintf("0 0 15 %d *", (time.Now().UTC().Month()+5)%12+1)
}

func (w *backupEnv) askForBackup(name string) {
	w.t.Helper()
	w.patchPolicy(name, fmt.Sprintf(`{"metadata":{"annotations":{%q:"once"}}}`, metav1alpha1.AnnotationBackupNow))
}

// changePolicy changes what is in the revision.
func (w *backupEnv) changePolicy(name string) {
	w.t.Helper()
	w.patchPolicy(name, `{"spec":{"template":{"excludedResources":["events"]}}}`)
}

func (w *backupEnv) patchPolicy(name, patch string) {
	w.t.Helper()
	policy := &backupv1alpha1.BackupPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	if err := w.management.Patch(w.t.Context(), policy, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		w.t.Fatal(err)
	}
}

// deletePolicy says in Velero's place that it has looked for more backups in the bucket, which it does once a minute.
func (w *backupEnv) deletePolicy(name string) {
	w.t.Helper()
	enrollments, err := w.enrollments(name)
	if err != nil || len(enrollments) != 1 {
		w.t.Fatalf("there are %d enrollments: %v", len(enrollments), err)
	}
	w.remove(&backupv1alpha1.BackupPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}})
	location := velero("BackupStorageLocation")
	location.SetNamespace("velero")
	location.SetName(enrollments[0].Status.Velero.Name)
	patch := fmt.Appendf(nil, `{"status":{"lastSyncedTime":%q}}`, time.Now().Add(time.Minute).UTC().Format(time.RFC3339))
	if err := w.workload.Patch(w.t.Context(), location, client.RawPatch("application/merge-patch+json", patch)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *backupEnv) remove(object client.Object) {
	w.t.Helper()
	if err := w.management.Delete(w.t.Context(), object); err != nil {
		w.t.Fatal(err)
	}
}

// rehearse the backup of the policy that all drills share.
func (w *backupEnv) rehearse(name string) {
	w.t.Helper()
	w.make(w.management, &backupv1alpha1.DRDrill{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: backupv1alpha1.DRDrillSpec{
			PolicyName: "rehearsed", ClusterRef: metav1alpha1.ClusterReference{Namespace: "default", Name: "prod"},
			DrillScope: backupv1alpha1.DrillScope{Target: backupv1alpha1.DrillTarget{Mode: backupv1alpha1.DrillNamespaceMapped}},
		},
	})
}

func (w *backupEnv) deleteDrill(name string) {
	w.t.Helper()
	w.remove(&backupv1alpha1.DRDrill{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}})
}

func (w *backupEnv) isNotReady(name string) string {
	policy := &backupv1alpha1.BackupPolicy{}
	if err := w.management.Get(w.t.Context(), client.ObjectKey{Namespace: "default", Name: name}, policy); err != nil {
		return err.Error()
	}
	ready := meta.FindStatusCondition(policy.Status.Conditions, metav1alpha1.ConditionReady)
	if ready == nil || ready.Status != metav1.ConditionTrue || ready.ObservedGeneration != policy.Generation {
		return fmt.Sprintf("the BackupPolicy is not Ready: %+v", ready)
	}
	return ""
}

func (w *backupEnv) isNotBackedUp(name string) string {
	enrollments, err := w.enrollments(name)
	if err != nil || len(enrollments) != 1 {
		return fmt.Sprintf("there are %d enrollments: %v", len(enrollments), err)
	}
	asked := enrollments[0].Status.Requested
	if asked == nil || asked.Action.Outcome == "" {
		return fmt.Sprintf("the backup has not ended: %+v", asked)
	}
	return w.isNotReady(name)
}

func (w *backupEnv) isNotGone(name string) string {
	return w.isThere(&backupv1alpha1.BackupPolicy{}, name)
}

func (w *backupEnv) isNotRehearsed(name string) string {
	drill := &backupv1alpha1.DRDrill{}
	if err := w.management.Get(w.t.Context(), client.ObjectKey{Namespace: "default", Name: name}, drill); err != nil {
		return err.Error()
	}
	if drill.Status.FinishedAt == nil {
		return fmt.Sprintf("the drill is %s: %s", drill.Status.Verdict, drill.Status.Message)
	}
	return ""
}

func (w *backupEnv) isDrillNotGone(name string) string {
	return w.isThere(&backupv1alpha1.DRDrill{}, name)
}

func (w *backupEnv) isThere(object client.Object, name string) string {
	err := w.management.Get(w.t.Context(), client.ObjectKey{Namespace: "default", Name: name}, object)
	if apierrors.IsNotFound(err) {
		return ""
	}
	return fmt.Sprintf("the %T is still there: %v", object, err)
}
