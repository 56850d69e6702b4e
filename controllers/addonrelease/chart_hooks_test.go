package addonrelease

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	chartcommon "helm.sh/helm/v4/pkg/chart/common"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/addoncontent"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/render"
)

// packaged stores a revision with a chart of the given files, by their path in it.
func (a *addon) packaged(files map[string]string) string {
	a.t.Helper()
	made := &chartv2.Chart{Metadata: &chartv2.Metadata{APIVersion: chartv2.APIVersionV2, Name: "packaged", Version: "1.0.0"}}
	for name, text := range files {
		file := &chartcommon.File{Name: name, Data: []byte(text)}
		if strings.HasPrefix(name, "templates/") {
			made.Templates = append(made.Templates, file)
		} else {
			made.Files = append(made.Files, file)
		}
	}
	saved, err := chartutil.Save(made, a.t.TempDir())
	if err != nil {
		a.t.Fatal(err)
	}
	archive, err := os.ReadFile(saved)
	if err != nil {
		a.t.Fatal(err)
	}
	return a.revisionOf(addoncontent.Content{
		Namespace: a.namespace, CreateNamespace: true,
		Chart: &addoncontent.Chart{
			Repository: "oci://registry.example/charts", Name: made.Name(), Version: "1.0.0", Digest: "sha256:packaged",
			Archive: archive, Values: []render.ValuesLayer{{Name: "values", Text: "{}"}},
			ReleaseName: a.releaseName(), CRDs: string(addonsv1alpha1.CRDCreateReplace), HookTimeout: time.Minute,
		},
	})
}

// shortLived is a hook that the cluster removes as soon as it has ended. It starts when it is told to.
const shortLived = `apiVersion: batch/v1
kind: Job
metadata:
  name: short-lived
  annotations: {helm.sh/hook: pre-install}
spec:
  suspend: true
  ttlSecondsAfterFinished: 0
  backoffLimit: 0
  template:
    metadata: {labels: %s}
    spec:
      restartPolicy: Never
      containers: [{name: migrate, image: migrate}]
`

// once is a hook that starts when it is told to.
const once = `apiVersion: batch/v1
kind: Job
metadata:
  name: once
  annotations: {helm.sh/hook: pre-install}
spec:
  suspend: true
  template:
    spec:
      restartPolicy: Never
      containers: [{name: migrate, image: migrate}]
`

// startUnseen starts the Job of a hook that was made suspended, while the release is suspended and does not look.
func (a *addon) startUnseen(name string) *batchv1.Job {
	a.t.Helper()
	a.waitFor(metav1alpha1.ConditionReady, metav1.ConditionFalse, addonsv1alpha1.ReasonHookRunning)
	a.change(func(release *addonsv1alpha1.AddonRelease) { release.Spec.Suspend = true })
	a.waitFor(metav1alpha1.ConditionReady, metav1.ConditionFalse, metav1alpha1.ReasonSuspended)
	job := &batchv1.Job{}
	if !a.exists(job, name) {
		a.t.Fatal("there is no Job")
	}
	started := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"suspend":false}}`))
	if err := shared.workload.Patch(a.t.Context(), job, started); err != nil {
		a.t.Fatal(err)
	}
	return job
}

// TestAHookIsNoticedThatEndedBeforeItWasClaimed ends a hook while nothing is known of it, as when a status could not be
// written. The watch of Jobs goes on meanwhile, and has nothing more to say of it.
func TestAHookIsNoticedThatEndedBeforeItWasClaimed(t *testing.T) {
	t.Parallel()
	a := declareAddon(t, "")
	a.start(a.packaged(map[string]string{"templates/hook.yaml": once}))
	job := a.startUnseen("once")
	tracked := shared.connections.Tracker(types.NamespacedName{Namespace: "default", Name: tenantName})
	key := objects.Key{GroupKind: batchv1.SchemeGroupVersion.WithKind("Job").GroupKind(), Namespace: job.Namespace, Name: job.Name}
	eventually(t, "the watch shows that the Job has ended", func() (bool, string) {
		seen, _ := tracked.Look(key)
		return seen != nil && seen.Health.End == tracker.Succeeded, fmt.Sprintf("%+v", seen)
	})
	tracked.Retain(shared.reconciler.Room.Owner(a.get()), func(kept objects.Key) bool { return kept != key })
	a.change(func(release *addonsv1alpha1.AddonRelease) { release.Spec.Suspend = false })
	a.waitFor(metav1alpha1.ConditionReady, metav1.ConditionTrue, metav1alpha1.ReasonSucceeded)
}

// TestAHookThatTheClusterRemovedTellsHowItEnded has the release look only when the Job is gone.
func TestAHookThatTheClusterRemovedTellsHowItEnded(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		podLabels, condition, reason, message string
	}{
		"succeeded": {"{}", metav1alpha1.ConditionReady, metav1alpha1.ReasonSucceeded, ""},
		"failed":    {`{pod-container-running-failed.stage.kwok.x-k8s.io: "true"}`, metav1alpha1.ConditionStalled, addonsv1alpha1.ReasonHookFailed, "short-lived failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := declareAddon(t, "")
			a.start(a.packaged(map[string]string{"templates/hook.yaml": fmt.Sprintf(shortLived, row.podLabels)}))
			job := a.startUnseen("short-lived")
			eventually(t, "the Job is gone", func() (bool, string) { return !a.exists(job, "short-lived"), fmt.Sprintf("%+v", job.Status) })
			a.change(func(release *addonsv1alpha1.AddonRelease) { release.Spec.Suspend = false })
			release := a.waitFor(row.condition, metav1.ConditionTrue, row.reason)
			if message := messageOf(release); !strings.Contains(message, row.message) {
				t.Errorf("the message is %q", message)
			}
		})
	}
}
