package backup

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

const day = 24 * time.Hour

// TestBackupsWhoseTimeIsOverLeaveTheBucket puts backups of days ago into the bucket, which Velero's sync brings into the
// cluster. By their own metadata they expire in a week, so it is Daytwo that has them deleted.
func TestBackupsWhoseTimeIsOverLeaveTheBucket(t *testing.T) {
	t.Parallel()
	c := newCustomer(t, "retained")
	c.createNamespace("retained", "shop")
	wanted := c.yearly("retention")
	wanted.Spec.Retention = backupv1alpha1.BackupRetention{TTL: &metav1.Duration{Duration: time.Hour}, KeepLast: 2}
	policy := c.create(wanted)
	c.awaitReady(policy)
	made := c.backUp(policy, "retained", "first")
	velero := c.enrollment(t.Context(), policy, "retained").Status.Velero
	if ttl := c.scheduleTTL("retained", velero.Name); ttl <= day {
		t.Errorf("Velero deletes backups by itself after %s, as if it knew of keepLast", ttl)
	}
	backups := filepath.Join(c.bucketDir, velero.Prefix, "backups")
	for name, change := range map[string]func(*unstructured.Unstructured){
		"days-2": started(2*day, "Completed"), "days-3": started(3*day, "Completed"), "days-4": started(4*day, "Failed"), "days-5": started(5*day, "Completed"),
	} {
		copyBackup(t, backups, made, name, change)
	}
	c.awaitStored(backups, made, "days-2")

	expect.Eventually(t, "the status tells what is kept", func(ctx context.Context) error {
		status := c.enrollment(ctx, policy, "retained").Status
		if len(status.Runs) != 2 || !status.Runs[0].Kept || !status.Runs[1].Kept || status.Deletions != nil {
			return fmt.Errorf("runs %+v, deletions %+v", status.Runs, status.Deletions)
		}
		return expect.Condition(status.Conditions, backupv1alpha1.ConditionBackupsExpire, metav1.ConditionTrue, metav1alpha1.ReasonSucceeded)
	})
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"retention":{"keepLast":1}}}`))
	must(t, env.Admin.Patch(t.Context(), policy, patch))
	c.awaitStored(backups, made)
	c.verifyExtended("retained", made)
	t.Run("what Velero cannot delete is told, and tried again when somebody asks for it", func(t *testing.T) {
		c.testFailedDeletion(t, policy, backups, made)
	})
	c.remove(policy)
}

// testFailedDeletion has Velero fail over a file of a backup that it cannot read.
func (c *customer) testFailedDeletion(t *testing.T, policy *backupv1alpha1.BackupPolicy, backups, made string) {
	unreadable := filepath.Join(backups, "broken", "broken-volumesnapshots.json.gz")
	copyFiles(t, backups, made, "broken")
	must(t, os.WriteFile(unreadable, []byte("no archive"), 0o600))
	copyMetadata(t, backups, made, "broken", started(day, "Completed"))
	expect.Eventually(t, "the status tells what Velero says", func(ctx context.Context) error {
		list := c.enrollment(ctx, policy, "retained").Status.Conditions
		told := meta.FindStatusCondition(list, metav1alpha1.ConditionReady)
		// Velero may not have seen the backup yet that it brought into the cluster, and then finds none until it is asked again.
		if told == nil || !strings.Contains(told.Message, "backup broken: ") || !strings.Contains(told.Message, "volume snapshots") {
			return fmt.Errorf("it tells %s", expect.Describe(list))
		}
		return expect.Condition(list, metav1alpha1.ConditionReady, metav1.ConditionFalse, backupv1alpha1.ReasonDeletionFailed)
	})
	if deletions := c.enrollment(t.Context(), policy, "retained").Status.Deletions; deletions == nil || deletions.Failed != 1 || deletions.Remaining != 1 {
		t.Errorf("the status tells %+v", deletions)
	}
	must(t, os.Remove(unreadable))
	c.annotate(c.enrollment(t.Context(), policy, "retained"), metav1alpha1.AnnotationRequestedAt, "now")
	c.awaitStored(backups, made)
	c.awaitReady(policy)
}

// backUp asks for a backup of a cluster that has none that somebody asked for in these words, and returns its name.
func (c *customer) backUp(policy *backupv1alpha1.BackupPolicy, cluster, request string) (name string) {
	c.t.Helper()
	c.annotate(c.enrollment(c.t.Context(), policy, cluster), metav1alpha1.AnnotationBackupNow, request)
	expect.Eventually(c.t, "a backup is made", func(ctx context.Context) error {
		status := c.enrollment(ctx, policy, cluster).Status
		if status.Requested == nil || status.Requested.Enrollment != request || status.Requested.Action.Outcome != metav1alpha1.ActionSucceeded || status.LastSuccessful == nil {
			return fmt.Errorf("requested %+v, conditions %+v", status.Requested, status.Conditions)
		}
		name = status.LastSuccessful.Name
		return nil
	})
	return name
}

// verifyExtended has Velero delete a backup in ten minutes, and waits until that was put off.
func (c *customer) verifyExtended(cluster, backup string) {
	c.t.Helper()
	soon := fmt.Appendf(nil, `{"status":{"expiration":%q}}`, time.Now().Add(10*time.Minute).UTC().Format(time.RFC3339))
	must(c.t, c.workload(cluster).Patch(c.t.Context(), c.velero("Backup", cluster, backup), client.RawPatch("application/merge-patch+json", soon)))
	expect.Eventually(c.t, "the last good backup stays", func(context.Context) error {
		text, _, err := unstructured.NestedString(c.velero("Backup", cluster, backup).Object, "status", "expiration")
		if at, wrong := time.Parse(time.RFC3339, text); err != nil || wrong != nil || time.Until(at) < 12*time.Hour {
			return fmt.Errorf("Velero deletes it at %s", text)
		}
		return nil
	})
}

// scheduleTTL is how long Velero keeps the backups of a Schedule.
func (c *customer) scheduleTTL(cluster, name string) time.Duration {
	c.t.Helper()
	text, _, err := unstructured.NestedString(c.velero("Schedule", cluster, name).Object, "spec", "template", "ttl")
	must(c.t, err)
	ttl, err := time.ParseDuration(text)
	must(c.t, err)
	return ttl
}

// awaitStored waits until the directory with the backups holds just these.
func (c *customer) awaitStored(dir string, want ...string) {
	c.t.Helper()
	slices.Sort(want)
	expect.Eventually(c.t, fmt.Sprintf("the backups in the bucket are %v", want), func(context.Context) error {
		got, err := storedBackups(dir)
		if err == nil && !slices.Equal(got, want) {
			err = fmt.Errorf("they are %v", got)
		}
		return err
	})
}

// storedBackups are those of which the bucket holds any object, in order.
func storedBackups(dir string) ([]string, error) {
	found, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	var names []string
	for _, file := range found {
		names = append(names, filepath.Base(filepath.Dir(file)))
	}
	slices.Sort(names)
	return slices.Compact(names), err
}

// metadataFile is where Velero keeps what a Backup says. Its sync brings a backup into the cluster once that is there.
const metadataFile = "velero-backup.json"

// copyBackup stores a copy of a backup under another name, which says something else.
func copyBackup(t *testing.T, dir, from, name string, change func(*unstructured.Unstructured)) {
	t.Helper()
	copyFiles(t, dir, from, name)
	copyMetadata(t, dir, from, name, change)
}

// copyFiles copies all but the metadata.
func copyFiles(t *testing.T, dir, from, name string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Join(dir, name), 0o700))
	files, err := os.ReadDir(filepath.Join(dir, from))
	must(t, err)
	for _, file := range files {
		if file.Name() == metadataFile {
			continue
		}
		content, err := os.ReadFile(filepath.Join(dir, from, file.Name()))
		must(t, err)
		must(t, os.WriteFile(filepath.Join(dir, name, strings.Replace(file.Name(), from, name, 1)), content, 0o600))
	}
}

func copyMetadata(t *testing.T, dir, from, name string, change func(*unstructured.Unstructured)) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, from, metadataFile))
	must(t, err)
	backup := &unstructured.Unstructured{}
	must(t, json.Unmarshal(content, &backup.Object))
	backup.SetName(name)
	change(backup)
	content, err = json.Marshal(backup.Object)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, name, metadataFile), content, 0o600))
}

// started has a backup say that it started so long ago, and that Velero is to keep it for another week.
func started(ago time.Duration, phase string) func(*unstructured.Unstructured) {
	return func(backup *unstructured.Unstructured) {
		start := time.Now().UTC().Add(-ago)
		backup.Object["status"].(map[string]any)["phase"] = phase
		for field, at := range map[string]time.Time{
			"startTimestamp": start, "completionTimestamp": start.Add(time.Second), "expiration": time.Now().UTC().Add(7 * day),
		} {
			backup.Object["status"].(map[string]any)[field] = at.Format(time.RFC3339)
		}
	}
}
