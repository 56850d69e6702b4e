package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
)

const everyMinute = "* * * * *"

// TestBackupsOfAPolicy is the life of one policy in two clusters.
func TestBackupsOfAPolicy(t *testing.T) {
	t.Parallel()
	c := newCustomer(t, "workload-1", "workload-2")
	c.createNamespace("workload-1", "shop")
	c.createNamespace("workload-2", "shop")
	policy := c.create(c.policy("nightly"))
	c.awaitReady(policy)

	prefixes := map[string]bool{}
	for _, cluster := range c.clusters {
		enrollment := c.awaitBackup(policy, cluster)
		last := enrollment.Status.LastSuccessful
		if last.Items == 0 || last.EndedAt == nil || !last.Kept || !expires(last, 400*time.Minute) {
			t.Errorf("the last backup of %s is told as %+v", cluster, last)
		}
		for condition, reason := range map[string]string{
			backupv1alpha1.ConditionStorageAvailable: metav1alpha1.ReasonSucceeded, backupv1alpha1.ConditionRPOMet: metav1alpha1.ReasonSucceeded,
			backupv1alpha1.ConditionBackupsHealthy: backupv1alpha1.ReasonBackupsSucceed,
		} {
			if err := expect.Condition(enrollment.Status.Conditions, condition, metav1.ConditionTrue, reason); err != nil {
				t.Errorf("%s: %v", cluster, err)
			}
		}
		velero := enrollment.Status.Velero
		prefixes[velero.Prefix] = true
		if _, err := os.Stat(filepath.Join(c.bucketDir, velero.Prefix, "backups", last.Name, last.Name+".tar.gz")); err != nil {
			t.Errorf("the backup of %s is not where its status says: %v", cluster, err)
		}
		if !strings.Contains(c.readyMessage(enrollment), last.Name) {
			t.Errorf("Ready of %s does not name the last backup: %s", cluster, c.readyMessage(enrollment))
		}
	}
	if len(prefixes) != 2 {
		t.Errorf("the clusters share a prefix: %v", prefixes)
	}
	t.Run("what a person changes is taken back, what Velero writes is not", func(t *testing.T) { c.testDrift(t, policy) })
	t.Run("what was made for Velero goes with the policy, and the backups stay", func(t *testing.T) { c.testDeletion(t, policy) })
}

// expires tells whether run is kept for ttl. Velero counts that from when it took the Backup up, shortly before its start,
// and tells both in whole seconds.
func expires(run *backupv1alpha1.BackupRun, ttl time.Duration) bool {
	kept := run.ExpiresAt.Sub(run.StartedAt.Time)
	return kept <= ttl && kept > ttl-time.Minute
}

func (c *customer) testDrift(t *testing.T, policy *backupv1alpha1.BackupPolicy) {
	enrollment := c.enrollment(t.Context(), policy, "workload-1")
	declared := c.velero("Schedule", "workload-1", enrollment.Status.Velero.Name)
	if _, set, _ := unstructured.NestedBool(declared.Object, "spec", "skipImmediately"); !set {
		t.Error("Velero did not set skipImmediately, so nothing is shown here")
	}
	if count := enrollment.Status.Drift.Count; count != 0 {
		t.Errorf("%d corrections although nobody changed anything: %+v", count, enrollment.Status.Drift)
	}
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"paused":true,"schedule":"0 0 1 1 *"}}`))
	must(t, c.workload("workload-1").Patch(t.Context(), declared, patch, client.FieldOwner("kubectl-edit")))
	expect.Eventually(t, "the Schedule is as declared again", func(ctx context.Context) error {
		now := c.velero("Schedule", "workload-1", declared.GetName())
		paused, _, _ := unstructured.NestedBool(now.Object, "spec", "paused")
		expression, _, _ := unstructured.NestedString(now.Object, "spec", "schedule")
		told := c.enrollment(ctx, policy, "workload-1").Status.Drift.Count
		if paused || expression != everyMinute || told == 0 {
			return fmt.Errorf("paused %t, schedule %q, %d corrections told", paused, expression, told)
		}
		return nil
	})
}

func (c *customer) testDeletion(t *testing.T, policy *backupv1alpha1.BackupPolicy) {
	enrollment := c.enrollment(t.Context(), policy, "workload-2")
	must(t, env.Admin.Delete(t.Context(), policy))
	expect.Eventually(t, "the policy is gone", func(ctx context.Context) error {
		err := env.Admin.Get(ctx, client.ObjectKeyFromObject(policy), &backupv1alpha1.BackupPolicy{})
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %w", err)
		}
		return nil
	})
	for _, kind := range []string{"Schedule", "BackupStorageLocation"} {
		if left := c.velero(kind, "workload-2", enrollment.Status.Velero.Name); left != nil {
			t.Errorf("%s %s is left", kind, left.GetName())
		}
	}
	last := enrollment.Status.LastSuccessful.Name
	if _, err := os.Stat(filepath.Join(c.bucketDir, enrollment.Status.Velero.Prefix, "backups", last, last+".tar.gz")); err != nil {
		t.Errorf("the backup went with the policy: %v", err)
	}
}

func TestCredentialsThatDoNotWorkAreToldOfAndReplaced(t *testing.T) {
	t.Parallel()
	c := newCustomer(t, "workload-3")
	c.setCredentials("workload-3", "nobody", "not-a-secret")
	policy := c.create(c.policy("denied"))
	c.awaitCondition(policy, "workload-3", metav1alpha1.ConditionReady, metav1.ConditionFalse, backupv1alpha1.ReasonStorageUnavailable)
	c.setCredentials("workload-3", c.storage.AccessKey, c.storage.SecretKey)
	c.awaitCondition(policy, "workload-3", backupv1alpha1.ConditionStorageAvailable, metav1.ConditionTrue, metav1alpha1.ReasonSucceeded)
	c.remove(policy)
}

func TestMissingCredentialsAreToldOfUntilTheyAreThere(t *testing.T) {
	t.Parallel()
	c := newCustomer(t, "workload-4")
	wanted := c.policy("later")
	wanted.Spec.Storage.Credentials.SecretName = "later-{{ .Cluster.Name }}"
	policy := c.create(wanted)
	told := c.awaitCondition(policy, "workload-4", metav1alpha1.ConditionReady, metav1.ConditionFalse, backupv1alpha1.ReasonCredentialsInvalid)
	if !strings.Contains(told.Message, "later-workload-4") {
		t.Errorf("the message does not name the Secret: %s", told.Message)
	}
	c.createSecret("later-workload-4", c.storage.AccessKey, c.storage.SecretKey)
	c.awaitCondition(policy, "workload-4", backupv1alpha1.ConditionStorageAvailable, metav1.ConditionTrue, metav1alpha1.ReasonSucceeded)
	c.remove(policy)
}

// TestABackupIsMadeOncePerRequest has a schedule that does not come, so that every backup is one that was asked for.
func TestABackupIsMadeOncePerRequest(t *testing.T) {
	t.Parallel()
	c := newCustomer(t, "workload-5")
	c.createNamespace("workload-5", "shop")
	policy := c.create(c.yearly("on-request"))
	c.awaitReady(policy)
	tenant := &tenancyv1alpha1.TenantCluster{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "workload-5"}}
	for made, object := range []client.Object{policy, c.enrollment(t.Context(), policy, "workload-5"), tenant} {
		c.annotate(object, metav1alpha1.AnnotationBackupNow, fmt.Sprintf("request-%d", made))
		expect.Eventually(t, "a backup is made", func(ctx context.Context) error {
			status := c.enrollment(ctx, policy, "workload-5").Status
			if status.Requested == nil || status.Requested.Action.Outcome != metav1alpha1.ActionSucceeded || len(status.Runs) != made+1 {
				return fmt.Errorf("requested %+v, runs %+v, conditions %+v", status.Requested, status.Runs, status.Conditions)
			}
			return nil
		})
	}
	// The manager forgets what it did, and is asked to look at it.
	must(t, env.Manager.Kill())
	must(t, env.Manager.Start(t.Context()))
	c.annotate(tenant, metav1alpha1.AnnotationRequestedAt, "now")
	expect.Eventually(t, "it has looked", func(ctx context.Context) error {
		if handled := c.enrollment(ctx, policy, "workload-5").Status.HandledRequest; handled != "now" {
			return fmt.Errorf("it handled %q", handled)
		}
		return nil
	})
	if runs := c.enrollment(t.Context(), policy, "workload-5").Status.Runs; len(runs) != 3 {
		t.Errorf("there are %d backups for 3 requests: %+v", len(runs), runs)
	}
	c.remove(policy)
}

func TestAClusterIsBackedUpBeforeItGoes(t *testing.T) {
	t.Parallel()
	c := newCustomer(t, "workload-6")
	c.createNamespace("workload-6", "shop")
	policy := c.create(c.yearly("last"))
	c.awaitReady(policy)
	c.awaitCondition(policy, "workload-6", backupv1alpha1.ConditionStorageAvailable, metav1.ConditionTrue, metav1alpha1.ReasonSucceeded)
	prefix := c.enrollment(t.Context(), policy, "workload-6").Status.Velero.Prefix
	expect.Eventually(t, "Velero has told its version", func(ctx context.Context) error {
		if server := c.enrollment(ctx, policy, "workload-6").Status.Server; server == nil || !strings.HasPrefix(server.Version, "v1.18.") {
			return fmt.Errorf("it is %+v", server)
		}
		return nil
	})
	tenant := &tenancyv1alpha1.TenantCluster{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "workload-6"}}
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"deletion":{"finalBackup":true}}}`))
	must(t, env.Admin.Patch(t.Context(), tenant, patch))
	must(t, env.Admin.Delete(t.Context(), tenant))
	expect.Eventually(t, "the cluster is gone", func(ctx context.Context) error {
		if err := env.Admin.Get(ctx, client.ObjectKeyFromObject(tenant), tenant); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %v, %+v", err, tenant.Status.Conditions)
		}
		return nil
	})
	if made, err := filepath.Glob(filepath.Join(c.bucketDir, prefix, "backups", "*", "velero-backup.json")); err != nil || len(made) != 1 {
		t.Errorf("%d backups were made, %v", len(made), err)
	}
	c.remove(policy)
}

func TestAClusterWithoutVeleroIsToldOf(t *testing.T) {
	t.Parallel()
	_, err := env.Fleet.AddCluster(t.Context(), "plain", localfleet.ClusterOptions{Bare: true})
	must(t, err)
	c := newCustomer(t, "plain")
	policy := c.create(c.policy("nowhere"))
	told := c.awaitCondition(policy, "plain", metav1alpha1.ConditionReady, metav1.ConditionFalse, backupv1alpha1.ReasonVeleroUnavailable)
	if !strings.Contains(told.Message, "install Velero") {
		t.Errorf("the message names no way out: %s", told.Message)
	}
	c.remove(policy)
}

func TestWhatCannotBeSpreadIsRefused(t *testing.T) {
	t.Parallel()
	c := newCustomer(t)
	monthly := c.policy("monthly")
	monthly.Spec.Schedule = backupv1alpha1.BackupSchedule{Recurrence: backupv1alpha1.Recurrence{Cron: "30 23 1 * *", Spread: &metav1.Duration{Duration: 2 * time.Hour}}}
	err := env.Admin.Create(t.Context(), monthly)
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec.schedule.cron") || !strings.Contains(err.Error(), "day of the month") {
		t.Errorf("got %v", err)
	}
}

// customer is one with a namespace, clusters and a bucket.
type customer struct {
	t         *testing.T
	namespace string
	clusters  []string
	storage   localfleet.Storage
	bucket    string
	bucketDir string
}

func newCustomer(t *testing.T, clusters ...string) *customer {
	t.Helper()
	name := "c-" + strings.ToLower(strings.ReplaceAll(t.Name(), "_", "-"))
	c := &customer{t: t, namespace: name[:min(len(name), 40)], clusters: clusters, bucket: strings.Trim(name[:min(len(name), 40)], "-")}
	c.namespace = c.bucket
	var err error
	c.storage, err = env.Fleet.Storage()
	must(t, err)
	c.bucketDir, err = env.Fleet.CreateBucket(c.bucket)
	must(t, err)
	for _, cluster := range clusters {
		c.start(cluster)
		must(t, env.Register(t.Context(), c.namespace, cluster, nil))
		c.createSecret("storage-"+cluster, c.storage.AccessKey, c.storage.SecretKey)
	}
	if len(clusters) == 0 {
		must(t, env.Admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.namespace}}))
	}
	must(t, env.Admin.Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "storage-ca"}, Data: map[string]string{"ca.crt": string(c.storage.CA)},
	}))
	t.Cleanup(func() {
		for _, cluster := range clusters {
			c.end(cluster)
		}
	})
	return c
}

// start a cluster with a Velero server, unless the test has one of that name already. Clusters end with their tests: an API
// server takes three of the 128 inotify instances that Linux gives a user.
func (c *customer) start(cluster string) {
	c.t.Helper()
	if _, err := env.Fleet.Cluster(cluster); err == nil {
		return
	}
	_, err := env.Fleet.AddCluster(c.t.Context(), cluster, localfleet.ClusterOptions{Velero: true})
	must(c.t, err)
}

// end a cluster that nobody works in any more.
func (c *customer) end(cluster string) {
	ctx, tenant := context.Background(), &tenancyv1alpha1.TenantCluster{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: cluster}}
	must(c.t, env.Remove(ctx, client.ObjectKeyFromObject(tenant)))
	if !c.t.Failed() {
		c.awaitGone(tenant)
	}
	must(c.t, env.Fleet.RemoveCluster(ctx, cluster))
}

// policy backs up the namespace shop every minute.
func (c *customer) policy(name string) *backupv1alpha1.BackupPolicy {
	return &backupv1alpha1.BackupPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: name},
		Spec: backupv1alpha1.BackupPolicySpec{
			PolicySpec: metav1alpha1.PolicySpec{ClusterSelector: &metav1.LabelSelector{}},
			Schedule:   backupv1alpha1.BackupSchedule{Recurrence: backupv1alpha1.Recurrence{Cron: everyMinute, Spread: &metav1.Duration{}}},
			Template:   backupv1alpha1.BackupTemplate{IncludedNamespaces: []string{"shop"}},
			Storage: backupv1alpha1.BackupStorage{
				Bucket: c.bucket, Region: c.storage.Region, Endpoint: c.storage.Endpoint,
				CARef:       &backupv1alpha1.ConfigMapKey{Name: "storage-ca"},
				Credentials: backupv1alpha1.StorageCredentials{SecretName: "storage-{{ .Cluster.Name }}"},
			},
			Retention:  backupv1alpha1.BackupRetention{TTL: &metav1.Duration{Duration: 2 * time.Hour}},
			Objectives: backupv1alpha1.PolicyObjectives{RecoveryObjectives: backupv1alpha1.RecoveryObjectives{RPO: &metav1.Duration{Duration: time.Hour}}},
			MinItems:   ptr.To[int32](1),
		},
	}
}

// yearly is a policy whose schedule does not come while a test runs.
func (c *customer) yearly(name string) *backupv1alpha1.BackupPolicy {
	policy := c.policy(name)
	month := (time.Now().UTC().Month() + 5) % 12
	policy.Spec.Schedule.Cron = fmt.Sprintf("0 0 15 %d *", month+1)
	return policy
}

func (c *customer) annotate(object client.Object, key, value string) {
	c.t.Helper()
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, key, value))
	must(c.t, env.Admin.Patch(c.t.Context(), object, patch))
}

func (c *customer) create(policy *backupv1alpha1.BackupPolicy) *backupv1alpha1.BackupPolicy {
	c.t.Helper()
	must(c.t, env.Admin.Create(c.t.Context(), policy))
	return policy
}

func (c *customer) remove(policy *backupv1alpha1.BackupPolicy) {
	c.t.Helper()
	must(c.t, env.Admin.Delete(c.t.Context(), policy))
	c.awaitGone(policy)
}

func (c *customer) awaitGone(object client.Object) {
	c.t.Helper()
	expect.Eventually(c.t, fmt.Sprintf("%T %s is gone", object, object.GetName()), func(ctx context.Context) error {
		err := env.Admin.Get(ctx, client.ObjectKeyFromObject(object), object)
		if apierrors.IsNotFound(err) {
			return nil
		}
		told, _ := json.Marshal(object) // For whoever reads what failed.
		return fmt.Errorf("it is there: %w, %s", err, told)
	})
}

func (c *customer) createSecret(name, access, secret string) {
	c.t.Helper()
	must(c.t, env.Admin.Create(c.t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: name},
		StringData: map[string]string{"aws_access_key_id": access, "aws_secret_access_key": secret},
	}))
}

func (c *customer) setCredentials(cluster, access, secret string) {
	c.t.Helper()
	found := &corev1.Secret{}
	must(c.t, env.Admin.Get(c.t.Context(), client.ObjectKey{Namespace: c.namespace, Name: "storage-" + cluster}, found))
	found.StringData = map[string]string{"aws_access_key_id": access, "aws_secret_access_key": secret}
	must(c.t, env.Admin.Update(c.t.Context(), found))
}

func (c *customer) createNamespace(cluster, name string) {
	c.t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	must(c.t, client.IgnoreAlreadyExists(c.workload(cluster).Create(c.t.Context(), namespace)))
}

// workload connects to a cluster, which was imported or ordered, as its administrator.
func (c *customer) workload(cluster string) client.Client {
	c.t.Helper()
	if _, err := env.Fleet.Cluster(cluster); err != nil {
		return c.ordered(cluster)
	}
	workload, err := env.Workload(cluster)
	must(c.t, err)
	return workload
}

// velero returns an object of Velero's in a cluster; nil if there is none.
func (c *customer) velero(kind, cluster, name string) *unstructured.Unstructured {
	c.t.Helper()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(schema.GroupVersionKind{Group: "velero.io", Version: "v1", Kind: kind})
	err := c.workload(cluster).Get(context.Background(), client.ObjectKey{Namespace: "velero", Name: name}, object)
	if apierrors.IsNotFound(err) {
		return nil
	}
	must(c.t, err)
	return object
}

// enrollment returns that of a policy in a cluster, empty if there is none.
func (c *customer) enrollment(ctx context.Context, policy *backupv1alpha1.BackupPolicy, cluster string) *backupv1alpha1.BackupEnrollment {
	list := &backupv1alpha1.BackupEnrollmentList{}
	must(c.t, env.Admin.List(ctx, list, client.InNamespace(c.namespace), client.MatchingLabels{
		metav1alpha1.LabelPolicy: policy.Name, metav1alpha1.LabelCluster: cluster,
	}))
	if i := slices.IndexFunc(list.Items, func(backupv1alpha1.BackupEnrollment) bool { return true }); i >= 0 {
		return &list.Items[i]
	}
	return &backupv1alpha1.BackupEnrollment{}
}

func (c *customer) awaitBackup(policy *backupv1alpha1.BackupPolicy, cluster string) *backupv1alpha1.BackupEnrollment {
	c.t.Helper()
	var enrollment *backupv1alpha1.BackupEnrollment
	expect.Eventually(c.t, "there is a good backup of "+cluster, func(ctx context.Context) error {
		enrollment = c.enrollment(ctx, policy, cluster)
		if enrollment.Status.LastSuccessful == nil {
			return fmt.Errorf("runs %+v, conditions %+v", enrollment.Status.Runs, enrollment.Status.Conditions)
		}
		return nil
	})
	return enrollment
}

func (c *customer) awaitCondition(policy *backupv1alpha1.BackupPolicy, cluster, kind string, status metav1.ConditionStatus, reason string) *metav1.Condition {
	c.t.Helper()
	var found *metav1.Condition
	expect.Eventually(c.t, fmt.Sprintf("%s of %s is %s because of %s", kind, cluster, status, reason), func(ctx context.Context) error {
		list := c.enrollment(ctx, policy, cluster).Status.Conditions
		i := slices.IndexFunc(list, func(condition metav1.Condition) bool { return condition.Type == kind })
		if i < 0 {
			return errors.New("there is no such condition")
		}
		found = &list[i]
		return expect.Condition(list, kind, status, reason)
	})
	return found
}

func (c *customer) awaitReady(policy *backupv1alpha1.BackupPolicy) {
	c.t.Helper()
	expect.Eventually(c.t, "the policy is Ready in its clusters", func(ctx context.Context) error {
		if err := env.Admin.Get(ctx, client.ObjectKeyFromObject(policy), policy); err != nil {
			return err
		}
		if policy.Status.Clusters.Selected.Count == 0 {
			return errors.New("it selects no cluster yet")
		}
		return expect.Condition(policy.Status.Conditions, metav1alpha1.ConditionReady, metav1.ConditionTrue, "")
	})
}

func (c *customer) readyMessage(enrollment *backupv1alpha1.BackupEnrollment) string {
	for _, condition := range enrollment.Status.Conditions {
		if condition.Type == metav1alpha1.ConditionReady {
			return condition.Message
		}
	}
	return ""
}
