package backup

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
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
	reference, _, _ := unstructured.NestedString(c.velero("Backup", cluster, enrollment.Status.LastSuccessful.Name).Object, "spec", "resourcePolicy", "name")
	if reference != name {
		t.Errorf("the backup was made with the resource policies of %q", reference)
	}
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
