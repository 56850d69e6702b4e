package addonrelease

import (
	"fmt"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// The last words of a manager that was killed may reach the API server after the next one has begun the operation anew:
// they say that all is done, and the record says that it is under way.
func TestAnUpgradeGoesOnThoughAStatusThatComesLateSaysItIsDone(t *testing.T) {
	t.Parallel()
	a := declareAddon(t, "")
	a.start(a.waitingChart("1.0.0"))
	a.waitReady()
	a.move(a.waitingChart("2.0.0"))
	job := &batchv1.Job{}
	eventually(t, "the hook waits, and the record says so", func() (bool, string) {
		records := a.records()
		return a.exists(job, "wait") && records == "2 pending-upgrade, 1 deployed", records
	})
	release := a.get()
	before := release.DeepCopy()
	release.Status.Revision, release.Status.InputsHash, release.Status.Applying = release.Spec.Revision, release.Status.Applying, ""
	release.Status.ObservedGeneration = release.Generation
	meta.SetStatusCondition(&release.Status.Conditions, metav1.Condition{
		Type: metav1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: metav1alpha1.ReasonSucceeded, ObservedGeneration: release.Generation,
	})
	if err := shared.management.Status().Patch(t.Context(), release, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	running := job.DeepCopy()
	job.Spec.Suspend = ptr.To(false)
	if err := shared.workload.Patch(t.Context(), job, client.MergeFrom(running)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the record says that the upgrade is done", func() (bool, string) {
		records := a.records()
		return records == "2 deployed, 1 superseded", fmt.Sprint(records, describeConditions(a.get()))
	})
	a.waitReady()
}

// waitingChart stores a revision of a chart whose upgrade waits for a Job that somebody has to let run.
func (a *addon) waitingChart(version string) string {
	a.t.Helper()
	return a.packaged(map[string]string{
		"templates/settings.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {version: " + version + "}\n",
		"templates/wait.yaml": `apiVersion: batch/v1
kind: Job
metadata: {name: wait, annotations: {helm.sh/hook: pre-upgrade}}
spec:
  suspend: true
  template: {spec: {restartPolicy: Never, containers: [{name: wait, image: example/wait}]}}
`})
}

// What people change beside a status is not in the way of writing it; another status is.
func TestAStatusIsWrittenOnlyInPlaceOfTheOneThatWasRead(t *testing.T) {
	t.Parallel()
	a := newAddon(t, "")
	a.waitReady()
	w, status := writing(shared.management, a.get()), a.get().Status
	a.change(func(release *addonsv1alpha1.AddonRelease) {
		release.Annotations = map[string]string{"note": "changed meanwhile"}
	})
	status.Drift.Count = 1
	if err := w.Record(t.Context(), status); err != nil || a.get().Status.Drift.Count != 1 {
		t.Errorf("beside a changed annotation: %v", err)
	}
	theirs := a.get()
	before := theirs.DeepCopy()
	theirs.Status.Drift.Count = 5
	if err := shared.management.Status().Patch(t.Context(), theirs, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	status.Drift.Count = 7
	if err := w.Record(t.Context(), status); err == nil || a.get().Status.Drift.Count == 7 {
		t.Errorf("written over another status, and told %v", err)
	}
}
