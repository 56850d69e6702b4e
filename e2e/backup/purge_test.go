package backup

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

// TestAllBackupsGoWithAPolicyThatSaysSo deletes a policy when the bucket holds a backup of it that the cluster does not know
// of yet, and one that somebody else made in the same place.
func TestAllBackupsGoWithAPolicyThatSaysSo(t *testing.T) {
	t.Parallel()
	c := newCustomer(t, "purged")
	c.createNamespace("purged", "shop")
	policy := c.create(deletingBackups(c.yearly("purge")))
	c.awaitReady(policy)
	made := c.backUp(policy, "purged", "first")
	velero := c.enrollment(t.Context(), policy, "purged").Status.Velero
	backups := filepath.Join(c.bucketDir, velero.Prefix, "backups")
	copyBackup(t, backups, made, "unknown", started(time.Hour, "Completed"))
	copyBackup(t, backups, made, "theirs", func(backup *unstructured.Unstructured) { backup.SetLabels(nil) })

	c.remove(policy)
	if left, err := storedBackups(backups); err != nil || !slices.Equal(left, []string{"theirs"}) {
		t.Errorf("the bucket holds %v, %v", left, err)
	}
	for _, kind := range []string{"Schedule", "BackupStorageLocation"} {
		if left := c.velero(kind, "purged", velero.Name); left != nil {
			t.Errorf("%s %s is left", kind, left.GetName())
		}
	}
	t.Run("where Velero cannot delete any, the policy waits until they may stay", c.testKeepingBackups)
}

func deletingBackups(policy *backupv1alpha1.BackupPolicy) *backupv1alpha1.BackupPolicy {
	policy.Spec.Retention.DeletionPolicy = backupv1alpha1.DeleteBackups
	return policy
}

func (c *customer) testKeepingBackups(t *testing.T) {
	policy := c.create(deletingBackups(c.yearly("kept")))
	c.awaitReady(policy)
	made := c.backUp(policy, "purged", "second")
	prefix := c.enrollment(t.Context(), policy, "purged").Status.Velero.Prefix
	c.setCredentials("purged", "nobody", "not-a-secret")
	c.awaitCondition(policy, "purged", backupv1alpha1.ConditionStorageAvailable, metav1.ConditionFalse, backupv1alpha1.ReasonStorageUnavailable)
	must(t, env.Admin.Delete(t.Context(), policy))
	expect.Eventually(t, "the enrollment says what it waits for", func(ctx context.Context) error {
		message := c.readyMessage(c.enrollment(ctx, policy, "purged"))
		if !strings.Contains(message, "cannot use the storage") || !strings.Contains(message, "KeepBackups") {
			return fmt.Errorf("it says: %s", message)
		}
		return nil
	})
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"retention":{"deletionPolicy":"KeepBackups"}}}`))
	must(t, env.Admin.Patch(t.Context(), policy, patch))
	c.awaitGone(policy)
	if left, err := storedBackups(filepath.Join(c.bucketDir, prefix, "backups")); err != nil || !slices.Equal(left, []string{made}) {
		t.Errorf("the bucket holds %v, %v", left, err)
	}
}

func TestBackupsAreNotDeletedWhereEverythingStays(t *testing.T) {
	t.Parallel()
	c := newCustomer(t)
	policy := deletingBackups(c.policy("both"))
	policy.Spec.DeletionPolicy = metav1alpha1.DeletionPolicyOrphan
	if err := env.Admin.Create(t.Context(), policy); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "choose one") {
		t.Errorf("got %v", err)
	}
}
