package order

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

// Nobody makes backups here, so the test plays who does.
func TestAnOrderedClusterStaysUntilItsFinalBackupIsMade(t *testing.T) {
	t.Parallel()
	c := newCustomer(t)
	c.install("settings")
	order := c.order("prod")
	order.Spec.Deletion.FinalBackup = true
	c.create(order)
	c.awaitReady("prod")
	c.awaitSettings("prod", minor(oldVersion()))

	must(t, env.Admin.Delete(t.Context(), order))
	c.awaitStep("prod", "BackupEnrollment is not installed")
	c.awaitStep("prod", "spec.deletion.finalBackup to false")
	release, err := c.release(t.Context())
	must(t, err)
	if live := c.cluster(t.Context(), "prod"); !release.DeletionTimestamp.IsZero() || !live.DeletionTimestamp.IsZero() {
		t.Errorf("the add-on goes at %v, the cluster at %v", release.DeletionTimestamp, live.DeletionTimestamp)
	}

	installEnrollments(t)
	enrollment := &unstructured.Unstructured{}
	enrollment.SetAPIVersion("backup.daytwo.dev/v1alpha1")
	enrollment.SetKind("BackupEnrollment")
	enrollment.SetNamespace(c.namespace)
	enrollment.SetName("daily-prod")
	enrollment.SetLabels(map[string]string{metav1alpha1.LabelCluster: "prod", metav1alpha1.LabelClusterNamespace: c.namespace})
	c.create(enrollment)
	c.wants("prod", "now")
	expect.Eventually(t, "the backup is asked for", func(ctx context.Context) error {
		if err := env.Admin.Get(ctx, client.ObjectKeyFromObject(enrollment), enrollment); err != nil {
			return err
		}
		if enrollment.GetAnnotations()[metav1alpha1.AnnotationRequestedAt] == "" {
			return fmt.Errorf("it is not: %s", expect.Describe(c.get("prod").Status.Conditions))
		}
		return nil
	})
	at := c.get("prod").DeletionTimestamp.Add(time.Second).UTC().Format(time.RFC3339)
	must(t, env.Admin.Status().Patch(t.Context(), enrollment, mergePatch(fmt.Sprintf(`{"status":{"lastSuccessfulTime":%q}}`, at))))
	c.wants("prod", "at last")
	c.awaitGone(order)
	c.awaitGone(&clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "prod"}})
	if records := c.orphans(); len(records) > 0 {
		t.Errorf("something is said to remain: %+v", records)
	}
}

// wants asks for a look at the cluster.
func (c *customer) wants(name, request string) {
	c.Helper()
	c.change(name, func(cluster *tenancyv1alpha1.TenantCluster) {
		cluster.Annotations = map[string]string{metav1alpha1.AnnotationRequestedAt: request}
	})
}

// awaitStep waits until the deletion waits for the final backup, and says why.
func (c *customer) awaitStep(name, says string) {
	c.Helper()
	expect.Eventually(c, "the final backup is awaited: "+says, func(context.Context) error {
		status := c.get(name).Status
		ready := meta.FindStatusCondition(status.Conditions, metav1alpha1.ConditionReady)
		if status.Deletion == nil || status.Deletion.Step != tenancyv1alpha1.DeletionFinalBackup || !strings.Contains(ready.Message, says) {
			return fmt.Errorf("it is at %+v: %s", status.Deletion, expect.Describe(status.Conditions))
		}
		return nil
	})
}

// installEnrollments makes the kind of who makes backups.
func installEnrollments(t *testing.T) {
	t.Helper()
	definition := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "backupenrollments.backup.daytwo.dev"},
		"spec": map[string]any{
			"group": "backup.daytwo.dev", "scope": "Namespaced",
			"names": map[string]any{"plural": "backupenrollments", "kind": "BackupEnrollment"},
			"versions": []any{map[string]any{
				"name": "v1alpha1", "served": true, "storage": true, "subresources": map[string]any{"status": map[string]any{}},
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
			}},
		},
	}}
	must(t, env.Admin.Create(t.Context(), definition))
	t.Cleanup(func() { must(t, env.Admin.Delete(context.Background(), definition)) })
	expect.Eventually(t, "the kind is served", func(ctx context.Context) error {
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion("backup.daytwo.dev/v1alpha1")
		list.SetKind("BackupEnrollmentList")
		return env.Admin.List(ctx, list)
	})
}
