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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
)

// TestBackupsWhoseTimeIsOverLeaveTheBucket puts backups of days ago into the bucket, which Velero's sync brings into the
// cluster. By their own metadata they expire in a week, so it is Daytwo that has them deleted.
func TestBackupsWhoseTimeIsOverLeaveTheBucket(t *testing.T) {
	t.Parallel()
	c := newCustomer(t, withVelero(t, "retained"))
	c.createNamespace("retained", "shop")
	wanted := c.yearly("retention")
	wanted.Spec.Retention = backupv1alpha1.BackupRetention{TTL: &metav1.Duration{Duration: time.Hour}, KeepLast: 2}
	policy := c.create(wanted)
	c.awaitReady(policy)
	made := c.backUp(policy, "retained", "first")
	velero := c.enrollment(t.Context(), policy, "retained").Status.Velero
	if ttl := c.scheduleTTL("retained", velero.Name); ttl <= 24*time.Hour {
		t.Errorf("Velero deletes backups by itself after %s, as if it knew of keepLast", ttl)
	}
	backups := filepath.Join(c.bucketDir, velero.Prefix, "backups")
	for name, phase := range map[string]string{"days-2": "Completed", "days-3": "Completed", "days-4": "Failed", "days-5": "Completed"} {
		var days int
		_, err := fmt.Sscanf(name, "days-%d", &days)
		must(t, err)
		copyBackup(t, backups, made, name, phase, time.Duration(days)*24*time.Hour)
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
	c.remove(policy)
}

// withVelero adds a cluster with a Velero server.
func withVelero(t *testing.T, name string) string {
	t.Helper()
	_, err := env.Fleet.AddCluster(t.Context(), name, localfleet.ClusterOptions{Velero: true})
	must(t, err)
	return name
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

// copyBackup stores a copy of a backup under another name, which says that it started so long ago. The metadata comes last,
// since that is what Velero's sync looks for.
func copyBackup(t *testing.T, dir, from, name, phase string, ago time.Duration) {
	t.Helper()
	const metadata = "velero-backup.json"
	must(t, os.MkdirAll(filepath.Join(dir, name), 0o700))
	files, err := os.ReadDir(filepath.Join(dir, from))
	must(t, err)
	for _, file := range files {
		if file.Name() == metadata {
			continue
		}
		content, err := os.ReadFile(filepath.Join(dir, from, file.Name()))
		must(t, err)
		must(t, os.WriteFile(filepath.Join(dir, name, strings.Replace(file.Name(), from, name, 1)), content, 0o600))
	}
	content, err := os.ReadFile(filepath.Join(dir, from, metadata))
	must(t, err)
	backup := &unstructured.Unstructured{}
	must(t, json.Unmarshal(content, &backup.Object))
	backup.SetName(name)
	start := time.Now().UTC().Add(-ago)
	for field, value := range map[string]string{
		"phase": phase, "startTimestamp": start.Format(time.RFC3339), "completionTimestamp": start.Add(time.Second).Format(time.RFC3339),
		"expiration": time.Now().UTC().Add(7 * 24 * time.Hour).Format(time.RFC3339),
	} {
		must(t, unstructured.SetNestedField(backup.Object, value, "status", field))
	}
	content, err = json.Marshal(backup.Object)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, name, metadata), content, 0o600))
}
