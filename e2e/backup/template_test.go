package backup

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

const (
	firstPassword  = "correct horse battery staple"
	secondPassword = "another password that is long"
)

// TestATemplateReachesVelero has a cluster without volumes and node-agent: the volume policies are read, and decide nothing.
func TestATemplateReachesVelero(t *testing.T) {
	t.Parallel()
	const cluster = "templates"
	c := newCustomer(t, cluster)
	c.createNamespace(cluster, "shop")
	c.setPassword("repository", firstPassword)
	policy := c.create(c.templated("rich", "repository"))
	c.awaitReady(policy)
	c.annotate(policy, metav1alpha1.AnnotationBackupNow, "now")
	enrollment := c.awaitBackup(policy, cluster)
	if phase := enrollment.Status.LastSuccessful.Phase; phase != "Completed" {
		t.Errorf("the backup is %s", phase)
	}
	name := enrollment.Status.Velero.Name
	c.expectTemplate(cluster, name)
	if got := c.repositoryPassword(t.Context(), cluster); got != firstPassword {
		t.Errorf("the password in the cluster is %q", got)
	}
	sharing := c.create(c.templated("sharing", "repository"))
	c.awaitReady(sharing)
	t.Run("another policy cannot set another password", func(t *testing.T) { c.testOtherPassword(t, cluster) })
	t.Run("a password is not changed once there is a repository", func(t *testing.T) { c.testChangedPassword(t, policy, cluster) })
	t.Run("what somebody sets in the cluster is taken back", func(t *testing.T) { c.testPasswordDrift(t, cluster) })
	t.Run("hooks are refused without the flag", func(t *testing.T) { c.testHooks(t) })
	t.Run("volume policies go when the policy drops them, and the password stays", func(t *testing.T) { c.testDropped(t, policy, cluster) })
	c.remove(policy)
	t.Run("who shared the password keeps it", func(t *testing.T) { c.testInheritedPassword(t, sharing, cluster) })
	c.remove(sharing)
	if got := c.repositoryPassword(t.Context(), cluster); got != firstPassword {
		t.Errorf("after the policies, the password in the cluster is %q", got)
	}
}

// templated is a policy with timeouts, volume policies and a password.
func (c *customer) templated(name, secret string) *backupv1alpha1.BackupPolicy {
	policy := c.yearly(name)
	policy.Spec.Template.CSISnapshotTimeout = &metav1.Duration{Duration: 20 * time.Minute}
	policy.Spec.Template.ItemOperationTimeout = &metav1.Duration{Duration: time.Hour}
	policy.Spec.Template.UploaderConfig = &backupv1alpha1.UploaderConfig{ParallelFilesUpload: 2}
	policy.Spec.Template.ResourcePolicies = &backupv1alpha1.ResourcePolicies{VolumePolicies: []backupv1alpha1.VolumePolicy{
		{
			Conditions: backupv1alpha1.VolumeConditions{
				Capacity: "100Gi,", StorageClass: []string{"slow"}, NFS: &backupv1alpha1.NFSVolumeCondition{}, VolumeTypes: []backupv1alpha1.VolumeType{"nfs"},
				PVCLabels: map[string]string{"scratch": "true"}, PVCPhase: []string{"Bound"}, PVCVolumeMode: "Filesystem", PVCAccessModes: []string{"ReadWriteMany"},
			},
			Action: backupv1alpha1.VolumeAction{Type: backupv1alpha1.SkipVolume},
		},
		{
			Conditions: backupv1alpha1.VolumeConditions{CSI: &backupv1alpha1.CSIVolumeCondition{Driver: "csi.example.com", VolumeAttributes: map[string]string{"tier": "1"}}},
			Action:     backupv1alpha1.VolumeAction{Type: backupv1alpha1.SnapshotVolume},
		},
		{Action: backupv1alpha1.VolumeAction{Type: backupv1alpha1.FsBackupVolume}},
	}}
	policy.Spec.Storage.RepositoryPasswordRef = &backupv1alpha1.RepositoryPasswordRef{SecretName: secret}
	return policy
}

// setPassword writes the password of repositories into a Secret of the customer's.
func (c *customer) setPassword(name, password string) {
	c.t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: name}, StringData: map[string]string{"password": password}}
	err := env.Admin.Create(c.t.Context(), secret)
	if apierrors.IsAlreadyExists(err) {
		err = env.Admin.Update(c.t.Context(), secret)
	}
	must(c.t, err)
}

// repositoryPassword is what Velero has in a cluster.
func (c *customer) repositoryPassword(ctx context.Context, cluster string) string {
	c.t.Helper()
	secret := &corev1.Secret{}
	must(c.t, c.workload(cluster).Get(ctx, client.ObjectKey{Namespace: "velero", Name: "velero-repo-credentials"}, secret))
	return string(secret.Data["repository-password"])
}

// expectTemplate wants the Schedule to say what the policy does, and the ConfigMap to be there.
func (c *customer) expectTemplate(cluster, name string) {
	c.t.Helper()
	template, _, _ := unstructured.NestedMap(c.velero("Schedule", cluster, name).Object, "spec", "template")
	for field, want := range map[string]any{"csiSnapshotTimeout": "20m0s", "itemOperationTimeout": "1h0m0s"} {
		if template[field] != want {
			c.t.Errorf("%s of the Schedule is %v, not %v", field, template[field], want)
		}
	}
	reference, _, _ := unstructured.NestedStringMap(template, "resourcePolicy")
	if reference["kind"] != "configmap" || reference["name"] != name {
		c.t.Errorf("the Schedule takes its resource policies from %v", reference)
	}
	policies := &corev1.ConfigMap{}
	must(c.t, c.workload(cluster).Get(c.t.Context(), client.ObjectKey{Namespace: "velero", Name: name}, policies))
	if !strings.Contains(policies.Data["policies.yaml"], "type: fs-backup") {
		c.t.Errorf("the ConfigMap holds %v", policies.Data)
	}
}

// testOtherPassword has one more policy with the same password, too, which is from another Secret.
func (c *customer) testOtherPassword(t *testing.T, cluster string) {
	c.setPassword("copied", firstPassword)
	copied := c.create(c.templated("copied", "copied"))
	c.awaitReady(copied)
	c.setPassword("other", secondPassword)
	other := c.create(c.templated("other", "other"))
	told := c.awaitCondition(other, cluster, metav1alpha1.ConditionReady, metav1.ConditionFalse, backupv1alpha1.ReasonRepositoryPasswordConflict)
	if !strings.Contains(told.Message, "rich") || strings.Contains(told.Message, firstPassword) || strings.Contains(told.Message, secondPassword) {
		t.Errorf("the message is: %s", told.Message)
	}
	c.remove(copied)
	c.remove(other)
	if got := c.repositoryPassword(t.Context(), cluster); got != firstPassword {
		t.Errorf("another policy set the password %q", got)
	}
}

// createRepository makes what a node-agent would.
func (c *customer) createRepository(cluster string) *unstructured.Unstructured {
	c.t.Helper()
	repository := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"volumeNamespace": "shop", "backupStorageLocation": "none", "repositoryType": "kopia", "maintenanceFrequency": "1h0m0s",
	}}}
	repository.SetGroupVersionKind(schema.GroupVersionKind{Group: "velero.io", Version: "v1", Kind: "BackupRepository"})
	repository.SetNamespace("velero")
	repository.SetName("shop-none-kopia")
	must(c.t, c.workload(cluster).Create(c.t.Context(), repository))
	return repository
}

// awaitPassword waits until Velero has a password in a cluster.
func (c *customer) awaitPassword(cluster, want string) {
	c.t.Helper()
	expect.Eventually(c.t, "Velero has the password", func(ctx context.Context) error {
		if c.repositoryPassword(ctx, cluster) != want {
			return errors.New("it has another one")
		}
		return nil
	})
}

func (c *customer) testChangedPassword(t *testing.T, policy *backupv1alpha1.BackupPolicy, cluster string) {
	repository := c.createRepository(cluster)
	c.setPassword("repository", secondPassword)
	told := c.awaitCondition(policy, cluster, metav1alpha1.ConditionReady, metav1.ConditionFalse, backupv1alpha1.ReasonRepositoryPasswordConflict)
	if !strings.Contains(told.Message, "shop-none-kopia") || !strings.Contains(told.Message, "put the old password back") {
		t.Errorf("the message is: %s", told.Message)
	}
	if got := c.repositoryPassword(t.Context(), cluster); got != firstPassword {
		t.Errorf("the password was changed to %q", got)
	}
	must(t, c.workload(cluster).Delete(t.Context(), repository))
	c.awaitPassword(cluster, secondPassword)
	c.setPassword("repository", firstPassword)
	c.awaitPassword(cluster, firstPassword)
	c.awaitReady(policy)
	c.expectNoPassword(firstPassword, secondPassword)
}

// testPasswordDrift has a repository, which is no reason to leave the change.
func (c *customer) testPasswordDrift(t *testing.T, cluster string) {
	c.createRepository(cluster)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: "velero-repo-credentials"}}
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"stringData":{"repository-password":%q}}`, secondPassword))
	must(t, c.workload(cluster).Patch(t.Context(), secret, patch, client.FieldOwner("kubectl-edit")))
	c.awaitPassword(cluster, firstPassword)
	c.expectNoPassword(firstPassword, secondPassword)
}

// testInheritedPassword has the policy that kept the Secret gone. The other one takes it over when it is looked at.
func (c *customer) testInheritedPassword(t *testing.T, policy *backupv1alpha1.BackupPolicy, cluster string) {
	tenant := &tenancyv1alpha1.TenantCluster{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: cluster}}
	c.annotate(tenant, metav1alpha1.AnnotationRequestedAt, "inherited")
	expect.Eventually(t, "the Secret is among its objects", func(ctx context.Context) error {
		inventory := c.enrollment(ctx, policy, cluster).Status.Inventory
		if !slices.ContainsFunc(inventory, func(e metav1alpha1.InventoryEntry) bool { return strings.HasSuffix(e.ID, "velero-repo-credentials") }) {
			return fmt.Errorf("they are %+v", inventory)
		}
		return nil
	})
}

// expectNoPassword looks for passwords in all that the manager tells.
func (c *customer) expectNoPassword(passwords ...string) {
	c.t.Helper()
	log, err := os.ReadFile(env.Manager.LogPath())
	must(c.t, err)
	told := map[string]string{"the log": string(log)}
	for _, list := range []client.ObjectList{
		&backupv1alpha1.BackupPolicyList{}, &backupv1alpha1.BackupEnrollmentList{}, &corev1.ConfigMapList{}, &eventsv1.EventList{},
	} {
		must(c.t, env.Admin.List(c.t.Context(), list, client.InNamespace(c.namespace)))
		text, err := json.Marshal(list)
		must(c.t, err)
		told[fmt.Sprintf("%T", list)] = string(text)
	}
	for where, text := range told {
		for _, password := range passwords {
			if strings.Contains(text, password) || strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(password))) {
				c.t.Errorf("%s tells a password", where)
			}
		}
	}
}

func (c *customer) testHooks(t *testing.T) {
	hooked := c.yearly("hooked")
	hooked.Spec.Template.Hooks = &backupv1alpha1.BackupHooks{Resources: []backupv1alpha1.BackupResourceHooks{{
		Name: "flush", Pre: []backupv1alpha1.BackupHook{{Exec: backupv1alpha1.ExecHook{Command: []string{"/bin/flush"}}}},
	}}}
	err := env.Admin.Create(t.Context(), hooked)
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec.template.hooks") || !strings.Contains(err.Error(), "--allow-backup-hooks") {
		t.Errorf("got %v", err)
	}
}

func (c *customer) testDropped(t *testing.T, policy *backupv1alpha1.BackupPolicy, cluster string) {
	name := c.enrollment(t.Context(), policy, cluster).Status.Velero.Name
	c.patchPolicy(policy, `{"spec":{"template":{"resourcePolicies":null},"storage":{"repositoryPasswordRef":null}}}`)
	expect.Eventually(t, "the ConfigMap is gone, and the Schedule does not name it", func(ctx context.Context) error {
		if _, named, _ := unstructured.NestedMap(c.velero("Schedule", cluster, name).Object, "spec", "template", "resourcePolicy"); named {
			return errors.New("the Schedule names it")
		}
		err := c.workload(cluster).Get(ctx, client.ObjectKey{Namespace: "velero", Name: name}, &corev1.ConfigMap{})
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %w", err)
		}
		return nil
	})
}
