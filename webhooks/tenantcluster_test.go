package webhooks

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

func TestAMaintenanceWindowThatCannotBeReadIsRefused(t *testing.T) {
	namespace := newNamespace(t)
	cluster := imported(namespace, "prod")
	cluster.Spec.MaintenanceWindows = []metav1alpha1.RecurringWindow{badWindow()}
	err := admin.Create(t.Context(), cluster)
	expectRefusal(t, err, "spec.maintenanceWindows[0].schedule", "0 25 * * *", "hour 0-23")
	if !apierrors.IsInvalid(err) {
		t.Errorf("it is no invalid field: %v", err)
	}

	cluster = imported(namespace, "prod")
	must(t, admin.Create(t.Context(), cluster))
	before := cluster.DeepCopy()
	good := badWindow()
	good.Schedule = "0 2 * * *"
	cluster.Spec.MaintenanceWindows = []metav1alpha1.RecurringWindow{good}
	must(t, admin.Patch(t.Context(), cluster, client.MergeFrom(before)))
	before = cluster.DeepCopy()
	cluster.Spec.MaintenanceWindows[0] = badWindow()
	expectRefusal(t, admin.Patch(t.Context(), cluster, client.MergeFrom(before)), "spec.maintenanceWindows[0].schedule")
}

// Somebody who mends one thing at a time, or takes an object away, is not held up by what was wrong before.
func TestWhatAnEditDoesNotChangeIsNotHeldAgainstIt(t *testing.T) {
	validator := &tenantClusters{}
	before := imported("acme", "prod")
	before.Spec.MaintenanceWindows = []metav1alpha1.RecurringWindow{badWindow()}
	suspended := before.DeepCopy()
	suspended.Spec.Suspend = true
	worse := before.DeepCopy()
	worse.DeletionTimestamp = &metav1.Time{}
	*worse.DeletionTimestamp = metav1.Now()
	worse.Spec.MaintenanceWindows = append(worse.Spec.MaintenanceWindows, badWindow())
	for name, after := range map[string]*tenancyv1alpha1.TenantCluster{"a suspension": suspended, "an edit on its way out": worse} {
		if warnings, err := validator.ValidateUpdate(t.Context(), before, after); err != nil || len(warnings) > 0 {
			t.Errorf("%s: %v, %v", name, warnings, err)
		}
	}
}

func TestAnOrderThatCannotBeCheckedPassesWithAWarning(t *testing.T) {
	order := imported(newNamespace(t), "prod")
	order.Spec.KubeconfigRef = nil
	order.Spec.Topology = &tenancyv1alpha1.ClusterTopology{ClassRef: tenancyv1alpha1.ClusterClassReference{Name: "small"}, Version: "v1.36.3"}
	ctx, warnings := collecting(t.Context())
	must(t, admin.Create(ctx, order))
	if said := strings.Join(warnings.all(), "\n"); !strings.Contains(said, "spec.topology could not be checked") || !strings.Contains(said, "Cluster") {
		t.Errorf("the warnings are %q", said)
	}
}

func TestALastBackupThatNobodyMakesIsWarnedOf(t *testing.T) {
	namespace := newNamespace(t)
	warned := func(name string) bool {
		cluster := imported(namespace, name)
		cluster.Spec.Deletion.FinalBackup = true
		ctx, warnings := collecting(t.Context())
		must(t, admin.Create(ctx, cluster))
		return strings.Contains(strings.Join(warnings.all(), "\n"), "no BackupPolicy selects this cluster")
	}
	if !warned("alone") {
		t.Error("nobody is told that no policy selects the cluster")
	}
	must(t, admin.Create(t.Context(), &backupv1alpha1.BackupPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "nightly"},
		Spec: backupv1alpha1.BackupPolicySpec{
			PolicySpec: metav1alpha1.PolicySpec{ClusterSelector: &metav1.LabelSelector{}}, Schedule: backupv1alpha1.BackupSchedule{Recurrence: backupv1alpha1.Recurrence{Cron: "@daily"}},
			Storage: backupv1alpha1.BackupStorage{Bucket: "backups", Region: "eu", Credentials: backupv1alpha1.StorageCredentials{SecretName: "storage"}},
		},
	}))
	tried := 0
	expect.Eventually(t, "a cluster that is backed up is not warned of", func(context.Context) error {
		if tried++; warned(fmt.Sprint("covered-", tried)) {
			return errors.New("it is")
		}
		return nil
	})
}
