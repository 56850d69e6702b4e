package tenantcluster

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/addonrelease"
	"github.com/daytwo-dev/daytwo/controllers/internal/targets"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/deletion"
)

// definitionOf a kind whose objects may have any fields.
func definitionOf(kind schema.GroupVersionKind) *unstructured.Unstructured {
	plural := strings.ToLower(kind.Kind) + "s"
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": plural + "." + kind.Group},
		"spec": map[string]any{
			"group": kind.Group, "scope": "Namespaced",
			"names": map[string]any{"plural": plural, "kind": kind.Kind},
			"versions": []any{map[string]any{
				"name": kind.Version, "served": true, "storage": true, "subresources": map[string]any{"status": map[string]any{}},
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
			}},
		},
	}}
}

// run makes a run that works in the clusters.
func (t *tenant) run(name string, clusters ...any) *unstructured.Unstructured {
	t.Helper()
	run := copyRunKind().New().(*unstructured.Unstructured)
	run.SetName(name)
	run.Object["spec"] = map[string]any{"clusters": clusters}
	t.create(run)
	return run
}

func (t *tenant) delete(name string) {
	t.Helper()
	if err := t.admin.Delete(t.ctx, t.get(name)); err != nil {
		t.Fatal(err)
	}
}

// waitStep waits until the deletion is at a step, and says all of the parts.
func (t *tenant) waitStep(name string, step tenancyv1alpha1.DeletionStep, parts ...string) *tenancyv1alpha1.TenantCluster {
	t.Helper()
	var cluster *tenancyv1alpha1.TenantCluster
	t.eventually(fmt.Sprintf("the deletion is at step %s, and says %q", step, parts), func() (string, bool) {
		cluster = t.get(name)
		message := readyMessage(cluster.Status)
		for _, part := range parts {
			if !strings.Contains(message, part) {
				return message, false
			}
		}
		return message, cluster.Status.Deletion != nil && cluster.Status.Deletion.Step == step
	})
	return cluster
}

// removeFinalizer does what the target's controllers do: one deletes it, the other one cleans up.
func (t *tenant) removeFinalizer(target client.Object) {
	t.Helper()
	if err := t.admin.Patch(t.ctx, target, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
		t.Fatal(err)
	}
	if err := client.IgnoreNotFound(t.admin.Delete(t.ctx, target)); err != nil {
		t.Fatal(err)
	}
}

// labelsOf what works for a cluster.
func labelsOf(cluster types.NamespacedName) map[string]string {
	return map[string]string{metav1alpha1.LabelCluster: cluster.Name, metav1alpha1.LabelClusterNamespace: cluster.Namespace}
}

func TestDeletionWaitsForAFinalBackupAndAsksForIt(t *testing.T) {
	tenant := newTenant(t)
	tenant.imported("prod", shared.blue.Kubeconfig())
	tenant.waitReady("prod")
	target := tenant.target("cache-prod", "prod")
	tenant.patch("prod", `{"spec":{"deletion":{"finalBackup":true}}}`)
	tenant.delete("prod")
	waiting := tenant.waitStep("prod", tenancyv1alpha1.DeletionFinalBackup, "FinalBackup: no BackupEnrollment has this cluster", "set spec.deletion.finalBackup to false")
	if waiting.Status.Phase != tenancyv1alpha1.PhaseDeleting || waiting.Status.Deletion.Deadline != nil || !waiting.KeepsTargets() {
		t.Errorf("phase %s, deletion %+v", waiting.Status.Phase, waiting.Status.Deletion)
	}

	before := waiting.DeletionTimestamp.Add(-time.Hour)
	enrollment := tenant.enrolled("daily", "prod", before)
	tenant.annotate("prod", metav1alpha1.AnnotationRequestedAt, "once more")
	tenant.waitStep("prod", tenancyv1alpha1.DeletionFinalBackup, tenant.namespace+"/daily (the last one at "+before.UTC().Format(time.RFC3339)+")")
	tenant.eventually("the backup is asked for", func() (string, bool) {
		if err := tenant.admin.Get(tenant.ctx, client.ObjectKeyFromObject(enrollment), enrollment); err != nil {
			return err.Error(), false
		}
		asked := enrollment.GetAnnotations()[metav1alpha1.AnnotationBackupNow]
		return asked, asked == waiting.DeletionTimestamp.UTC().Format(time.RFC3339)
	})

	tenant.backedUp(enrollment, waiting.DeletionTimestamp.Add(time.Second))
	if going := tenant.waitStep("prod", tenancyv1alpha1.DeletionRemovingTargets, "AddonRelease "+tenant.namespace+"/cache-prod"); going.KeepsTargets() {
		t.Error("the targets may not go")
	}
	if err := tenant.admin.Delete(tenant.ctx, enrollment); err != nil {
		t.Fatal(err)
	}
	tenant.removeFinalizer(target)
	tenant.waitGone(waiting)
	tenant.waitEvents("FinalBackup", "RemovingTargets")
}

// enrolled creates a BackupEnrollment of a cluster whose last good backup began at a time.
func (t *tenant) enrolled(name, cluster string, last time.Time) *backupv1alpha1.BackupEnrollment {
	t.Helper()
	enrollment := &backupv1alpha1.BackupEnrollment{}
	enrollment.Name, enrollment.Labels = name, labelsOf(t.key(cluster))
	enrollment.Spec.ClusterRef = metav1alpha1.ClusterReference{Namespace: t.namespace, Name: cluster}
	enrollment.Spec.Revision, enrollment.Spec.CredentialsSecret = "nightly-1", "storage"
	t.create(enrollment)
	t.backedUp(enrollment, last)
	return enrollment
}

// backedUp has an enrollment tell of a good backup.
func (t *tenant) backedUp(enrollment *backupv1alpha1.BackupEnrollment, at time.Time) {
	t.Helper()
	base := enrollment.DeepCopy()
	began := metav1.NewTime(at)
	enrollment.Status.LastSuccessful = &backupv1alpha1.BackupRun{Name: "nightly", StartedAt: &began}
	if err := t.admin.Status().Patch(t.ctx, enrollment, client.MergeFrom(base)); err != nil {
		t.Fatal(err)
	}
}

// waitEvents waits until there are Events for all of the reasons.
func (t *tenant) waitEvents(reasons ...string) {
	t.Helper()
	t.eventually(fmt.Sprintf("events %v", reasons), func() (string, bool) {
		list := &eventsv1.EventList{}
		if err := t.admin.List(t.ctx, list, client.InNamespace(t.namespace)); err != nil {
			return err.Error(), false
		}
		found := map[string]bool{}
		for _, event := range list.Items {
			found[event.Reason] = true
		}
		for _, reason := range reasons {
			if !found[reason] {
				return fmt.Sprint(found), false
			}
		}
		return "", true
	})
}

func TestDrillsStopBeforeAddonsAreRemoved(t *testing.T) {
	tenant := newTenant(t)
	tenant.imported("prod", shared.blue.Kubeconfig())
	tenant.waitReady("prod")
	target := tenant.target("cache-prod", "prod")
	drill := tenant.run("weekly", "prod")
	tenant.run("over")
	tenant.run("elsewhere", "test")

	tenant.delete("prod")
	gone := tenant.waitStep("prod", tenancyv1alpha1.DeletionStoppingDrills, "StoppingDrills: drills are under way: CopyRun "+tenant.namespace+"/weekly.")
	base := drill.DeepCopy()
	drill.Object["spec"] = map[string]any{}
	if err := tenant.admin.Patch(tenant.ctx, drill, client.MergeFrom(base)); err != nil {
		t.Fatal(err)
	}
	tenant.waitStep("prod", tenancyv1alpha1.DeletionRemovingTargets)
	tenant.removeFinalizer(target)
	tenant.waitGone(gone)
}

func TestADeadClusterGoesWithoutAFinalBackupWhichIsRecorded(t *testing.T) {
	tenant := newTenant(t)
	tenant.imported("dead", shared.green.Kubeconfig())
	tenant.imported("prod", shared.blue.Kubeconfig())
	tenant.waitReady("dead")
	tenant.waitReady("prod")
	t.Cleanup(func() {
		if err := shared.green.Start(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := shared.green.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	tenant.waitFor("dead", tenancyv1alpha1.ConditionConnected, metav1.ConditionFalse, tenancyv1alpha1.ReasonUnreachable)
	tenant.patch("dead", `{"spec":{"deletion":{"finalBackup":true,"timeout":"10s"}}}`)
	dead := tenant.get("dead")
	tenant.delete("dead")
	waiting := tenant.waitStep("dead", tenancyv1alpha1.DeletionFinalBackup, "The cluster does not answer, and is waited for until")
	if deadline := waiting.Status.Deletion.Deadline; deadline == nil || !deadline.Time.Equal(waiting.DeletionTimestamp.Add(5*time.Second)) {
		t.Errorf("deleted at %s, waited for until %s", waiting.DeletionTimestamp, deadline)
	}
	tenant.waitGone(dead)
	tenant.waitEvents(eventGivenUp)

	records := &tenancyv1alpha1.OrphanRecordList{}
	if err := tenant.admin.List(tenant.ctx, records, client.InNamespace(tenant.namespace)); err != nil {
		t.Fatal(err)
	}
	if len(records.Items) != 1 {
		t.Fatalf("there are %d records", len(records.Items))
	}
	left := &records.Items[0]
	if left.Spec.ClusterName != "dead" || left.Spec.Reason != tenancyv1alpha1.OrphanNoFinalBackup || !strings.Contains(left.Spec.Message, "no final backup was made") {
		t.Errorf("the record is %+v", left.Spec)
	}

	// A cluster of that name says so until the record is deleted.
	tenant.imported("dead", shared.green.Kubeconfig())
	recorded := tenant.waitFor("dead", tenancyv1alpha1.ConditionOrphansRecorded, metav1.ConditionTrue, tenancyv1alpha1.ReasonOrphansRecorded)
	for _, part := range []string{"1 OrphanRecords", "deal with it", left.Name, "no final backup was made"} {
		if !strings.Contains(recorded.Message, part) {
			t.Errorf("the condition does not say %q: %s", part, recorded.Message)
		}
	}
	if err := tenant.admin.Delete(tenant.ctx, left); err != nil {
		t.Fatal(err)
	}
	tenant.eventually("nothing is said of a record that was deleted", func() (string, bool) {
		condition := meta.FindStatusCondition(tenant.get("dead").Status.Conditions, tenancyv1alpha1.ConditionOrphansRecorded)
		return fmt.Sprint(condition), condition == nil
	})
}

func TestDeletionNamesTheGuardThatHoldsItUp(t *testing.T) {
	tenant := newTenant(t)
	tenant.imported("prod", shared.blue.Kubeconfig())
	tenant.waitReady("prod")
	addon := &addonsv1alpha1.SaaSAddon{
		ObjectMeta: metav1.ObjectMeta{Name: "cache"},
		Spec:       addonsv1alpha1.SaaSAddonSpec{PolicySpec: metav1alpha1.PolicySpec{ClusterNames: []string{"prod"}}, Source: addonsv1alpha1.AddonSource{Manifests: &addonsv1alpha1.ManifestSource{Inline: "one"}}},
	}
	tenant.create(addon)
	target := tenant.target("cache-prod", "prod")
	target.Labels[metav1alpha1.LabelPolicy] = "cache"
	if err := tenant.admin.Update(tenant.ctx, target); err != nil {
		t.Fatal(err)
	}
	tenant.delete("prod")
	gone := tenant.waitStep("prod", tenancyv1alpha1.DeletionRemovingTargets, "waits until AddonRelease "+tenant.namespace+"/cache-prod is gone")

	stalled := func(status metav1.ConditionStatus) {
		meta.SetStatusCondition(&addon.Status.Conditions, metav1.Condition{
			Type: metav1alpha1.ConditionStalled, Status: status, Reason: metav1alpha1.ReasonWithdrawalGuard, Message: "too many, among them somebody else's",
		})
		if err := tenant.admin.Status().Update(tenant.ctx, addon); err != nil {
			t.Fatal(err)
		}
	}
	stalled(metav1.ConditionTrue)
	held := tenant.waitStep("prod", tenancyv1alpha1.DeletionRemovingTargets,
		"cache-prod is held back by the withdrawal guard of SaaSAddon "+tenant.namespace+"/cache", metav1alpha1.AnnotationConfirmWithdrawal)
	if message := readyMessage(held.Status); strings.Contains(message, "somebody else's") {
		t.Errorf("it tells of other clusters: %s", message)
	}
	stalled(metav1.ConditionFalse)
	tenant.waitStep("prod", tenancyv1alpha1.DeletionRemovingTargets, "waits until AddonRelease "+tenant.namespace+"/cache-prod is gone")
	tenant.removeFinalizer(target)
	tenant.waitGone(gone)
}

func TestNothingIsLetGoWhileTheAPIServerHasATarget(t *testing.T) {
	tenant := newTenant(t)
	o := settled()
	o.key = tenant.key("unseen")
	connections := &fakeConnections{}
	r := &reconciler{live: tenant.admin, connections: connections, targets: targets.Registry{addonrelease.TargetKind()}}
	if err := r.confirmLeft(t.Context(), o); err != nil {
		t.Errorf("nothing is there: %v", err)
	}
	target := tenant.target("cache-unseen", "unseen")
	if done := r.release(t.Context(), o, plan{}); !done.released || !apierrors.IsConflict(done.err) || len(connections.calls) > 0 {
		t.Errorf("with a cache that is behind: %+v, calls %v", done, connections.calls)
	}
	o.blockers.targets = []deletion.Target{{NamespacedName: client.ObjectKeyFromObject(target)}}
	if err := r.confirmLeft(t.Context(), o); err == nil || apierrors.IsConflict(err) || !strings.Contains(err.Error(), tenant.namespace+"/cache-unseen") {
		t.Errorf("with one that came late: %v", err)
	}
	o.cluster = nil
	if err := r.confirmLeft(t.Context(), o); err != nil {
		t.Errorf("where there is nothing to let go of: %v", err)
	}
}

func TestALongEventIsCutAndNotLost(t *testing.T) {
	tenant := newTenant(t)
	tenant.imported("prod", shared.blue.Kubeconfig())
	tenant.waitReady("prod")
	tenant.patch("prod", `{"spec":{"deletion":{"finalBackup":true}}}`)
	t.Cleanup(func() {
		tenant.ctx = context.Background()
		tenant.patch("prod", `{"spec":{"deletion":{"finalBackup":false}}}`)
		if err := tenant.admin.DeleteAllOf(tenant.ctx, &backupv1alpha1.BackupEnrollment{}, client.InNamespace(tenant.namespace)); err != nil {
			t.Error(err)
		}
	})
	for _, first := range []string{"a", "b", "c"} {
		tenant.enrolled(first+strings.Repeat("x", 252), "prod", time.Date(2020, time.January, 1, 0, 0, 0, 0, time.UTC))
	}
	tenant.delete("prod")
	tenant.waitEvents("FinalBackup")
	if message := readyMessage(tenant.get("prod").Status); len(message) < 1024 {
		t.Errorf("what is told has only %d bytes", len(message))
	}
}
