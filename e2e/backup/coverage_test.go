package backup

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

// stateful is a namespace with a volume of which nothing in the cluster can take a snapshot.
const stateful = `
kind: Namespace
apiVersion: v1
metadata: {name: shop}
---
kind: PersistentVolume
apiVersion: v1
metadata: {name: shop-data}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  persistentVolumeReclaimPolicy: Retain
  hostPath: {path: /var/lib/shop}
  claimRef: {kind: PersistentVolumeClaim, apiVersion: v1, namespace: shop, name: data}
---
kind: PersistentVolumeClaim
apiVersion: v1
metadata: {name: data, namespace: shop}
spec: {storageClassName: "", volumeName: shop-data, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`

// TestWhatABackupHoldsAndLacks has a policy for one namespace of two, and Velero skip its volume.
func TestWhatABackupHoldsAndLacks(t *testing.T) {
	t.Parallel()
	c := newCustomer(t, "coverage")
	for _, text := range strings.Split(stateful, "\n---\n") {
		object := &unstructured.Unstructured{}
		must(t, yaml.Unmarshal([]byte(text), &object.Object))
		must(t, c.workload("coverage").Create(t.Context(), object))
	}
	c.createNamespace("coverage", "left-out")
	c.bind("coverage", "shop-data", client.ObjectKey{Namespace: "shop", Name: "data"})
	policy := c.create(c.yearly("partial"))
	c.awaitReady(policy)
	made := c.backUp(policy, "coverage", "first")

	expect.Eventually(t, "the bucket was read", func(ctx context.Context) error {
		run := c.enrollment(ctx, policy, "coverage").Status.LastSuccessful
		if run == nil || !run.DetailsRead || run.Bytes == nil || *run.Bytes == 0 || run.Volumes == nil {
			return fmt.Errorf("told is %+v", run)
		}
		if volumes := run.Volumes; *volumes.Total != 1 || *volumes.Covered != 0 || len(volumes.Uncovered) != 1 || volumes.Uncovered[0].Name != "shop/data" {
			return fmt.Errorf("told of the volumes is %+v", volumes)
		}
		return nil
	})
	told := c.awaitCondition(policy, "coverage", backupv1alpha1.ConditionCoverageComplete, metav1.ConditionFalse, backupv1alpha1.ReasonNotCovered)
	for _, want := range []string{"left-out", "shop/data", made} {
		if !strings.Contains(told.Message, want) {
			t.Errorf("the message does not name %s: %s", want, told.Message)
		}
	}
	c.awaitReady(policy)
	if policy.Status.ReadyClusters != "1/1" {
		t.Errorf("the policy tells of %q clusters", policy.Status.ReadyClusters)
	}
	t.Run("a policy that asks for volumes has no good backup", func(t *testing.T) { c.testRequiredVolumes(policy, made) })
	t.Run("a namespace that another policy backs up is covered", func(t *testing.T) { c.testOtherPolicy(policy) })
	c.remove(policy)
}

func (c *customer) testRequiredVolumes(policy *backupv1alpha1.BackupPolicy, made string) {
	c.setRequireVolumes(policy, true)
	told := c.awaitCondition(policy, "coverage", backupv1alpha1.ConditionBackupsHealthy, metav1.ConditionFalse, backupv1alpha1.ReasonBackupFailed)
	if !strings.Contains(told.Message, made) || !strings.Contains(told.Message, "volume shop/data was not backed up") {
		c.t.Errorf("the message is %q", told.Message)
	}
	if last := c.enrollment(c.t.Context(), policy, "coverage").Status.LastSuccessful; last != nil {
		c.t.Errorf("the last good backup is %+v", last)
	}
	c.annotate(c.enrollment(c.t.Context(), policy, "coverage"), metav1alpha1.AnnotationBackupNow, "second")
	expect.Eventually(c.t, "another backup is not a good one", func(ctx context.Context) error {
		requested := c.enrollment(ctx, policy, "coverage").Status.Requested
		if requested.Enrollment != "second" || requested.Action.Outcome != metav1alpha1.ActionFailed || !strings.Contains(requested.Action.Message, "shop/data") {
			return fmt.Errorf("requested %+v", requested)
		}
		return nil
	})
	c.setRequireVolumes(policy, false)
	c.awaitCondition(policy, "coverage", backupv1alpha1.ConditionBackupsHealthy, metav1.ConditionTrue, backupv1alpha1.ReasonBackupsSucceed)
}

func (c *customer) testOtherPolicy(policy *backupv1alpha1.BackupPolicy) {
	wanted := c.yearly("rest")
	wanted.Spec.Template.IncludedNamespaces = []string{"left-*", "default"}
	other := c.create(wanted)
	expect.Eventually(c.t, "the volume alone is not covered", func(ctx context.Context) error {
		list := c.enrollment(ctx, policy, "coverage").Status.Conditions
		for _, condition := range list {
			if condition.Type == backupv1alpha1.ConditionCoverageComplete && strings.HasPrefix(condition.Message, "backup ") {
				return nil
			}
		}
		return fmt.Errorf("conditions %+v", list)
	})
	c.remove(other)
	expect.Eventually(c.t, "it is left out again", func(ctx context.Context) error {
		list := c.enrollment(ctx, policy, "coverage").Status.Conditions
		for _, condition := range list {
			if condition.Type == backupv1alpha1.ConditionCoverageComplete && strings.Contains(condition.Message, "left-out") {
				return nil
			}
		}
		return fmt.Errorf("conditions %+v", list)
	})
}

func (c *customer) setRequireVolumes(policy *backupv1alpha1.BackupPolicy, required bool) {
	c.t.Helper()
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"requireVolumes":%t}}`, required))
	must(c.t, env.Admin.Patch(c.t.Context(), policy, patch))
}

// bind plays the controller of volumes, which the local clusters do not have.
func (c *customer) bind(cluster, volume string, claim client.ObjectKey) {
	c.t.Helper()
	workload, ctx := c.workload(cluster), c.t.Context()
	bound, claimed := &corev1.PersistentVolume{}, &corev1.PersistentVolumeClaim{}
	must(c.t, workload.Get(ctx, client.ObjectKey{Name: volume}, bound))
	bound.Status.Phase = corev1.VolumeBound
	must(c.t, workload.Status().Update(ctx, bound))
	must(c.t, workload.Get(ctx, claim, claimed))
	claimed.Status.Phase = corev1.ClaimBound
	must(c.t, workload.Status().Update(ctx, claimed))
}
