package controllers

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"

	"github.com/daytwo-dev/daytwo/e2e/helmclient"
	"github.com/daytwo-dev/daytwo/e2e/registry"
)

// Versions of the chart.
const (
	olderChart = "1.0.0"
	newerChart = "1.1.0"
)

// A chart with a hook before and one after, a password that is generated and used twice, and an object
// that one version has and the other has not.
var crashTemplates = map[string]string{
	"password.yaml": `{{ $password := randAlphaNum 12 }}
apiVersion: v1
kind: Secret
metadata: {name: {{ .Release.Name }}-password}
stringData: {value: {{ $password }}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}-settings}
data: {value: {{ .Chart.Version | quote }}, password: {{ $password }}}
`,
	"extra.yaml": `apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}-only-in-{{ .Chart.Version | replace "." "-" }}}
data: {value: {{ .Chart.Version | quote }}}
`,
	"prepare.yaml": `apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}-prepared
  annotations: {helm.sh/hook: "pre-install,pre-upgrade,pre-rollback"}
data: {value: {{ .Chart.Version | quote }}}
`,
	"migrate.yaml": `apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Release.Name }}-migrate
  annotations:
    helm.sh/hook: "post-install,post-upgrade,post-rollback,pre-delete"
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: migrate, image: example/migrate}]
`,
}

func crashArchive(t *testing.T, version string) []byte {
	t.Helper()
	made := &chart.Chart{Metadata: &chart.Metadata{APIVersion: chart.APIVersionV2, Name: "crash", Version: version}}
	for name, text := range crashTemplates {
		made.Templates = append(made.Templates, &common.File{Name: "templates/" + name, Data: []byte(text)})
	}
	slices.SortFunc(made.Templates, func(a, b *common.File) int { return strings.Compare(a.Name, b.Name) })
	file, err := chartutil.Save(made, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	archive, err := os.ReadFile(filepath.Clean(file))
	if err != nil {
		t.Fatal(err)
	}
	return archive
}

// chartEnv has a registry with the chart, somebody who lets Jobs succeed, and somebody who watches.
type chartEnv struct {
	*crashEnv
	// repository of charts.
	repository string
	// archives of the chart, by version.
	archives      map[string][]byte
	helmSettings  helmclient.Settings
	configs, jobs *witness
	// played are the add-ons that are there.
	played []string
}

func newChartEnv(t *testing.T) *chartEnv {
	t.Helper()
	w := &chartEnv{crashEnv: newCrashEnv(t), archives: map[string][]byte{}}
	var err error
	if w.helmSettings, err = helmclient.Fastest(w.workloadConfig); err != nil {
		t.Fatal(err)
	}
	w.configs, w.jobs = newWitness(t, w.workload, &corev1.ConfigMapList{}, nothing), newWitness(t, w.workload, &batchv1.JobList{}, nothing)
	w.explain = w.chartExplanation
	w.serveCharts()
	w.finishJobs()
	return w
}

// serveCharts starts a registry with two versions of the chart.
func (w *chartEnv) serveCharts() {
	w.t.Helper()
	server, err := registry.Start(context.Background(), registry.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = server.Close() })
	for _, version := range []string{olderChart, newerChart} {
		w.archives[version] = crashArchive(w.t, version)
		if _, err := server.Push(w.archives[version]); err != nil {
			w.t.Fatal(err)
		}
	}
	w.repository = server.OCI()
	if err := w.management.Create(w.t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "registry-ca"}, Data: map[string][]byte{"ca.crt": server.CA()},
	}); err != nil {
		w.t.Fatal(err)
	}
}

// finishJobs plays the controller of Jobs, which bare clusters have not: every Job succeeds at once.
func (w *chartEnv) finishJobs() {
	ctx, cancel := context.WithCancel(context.Background())
	jobs, err := w.workload.Watch(ctx, &batchv1.JobList{})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		cancel()
		jobs.Stop()
	})
	t := w.t
	go func() {
		for event := range jobs.ResultChan() {
			if job, ok := event.Object.(*batchv1.Job); ok && event.Type != watch.Deleted {
				if err := finish(ctx, w.workload, job); err != nil && ctx.Err() == nil {
					t.Errorf("Job %s/%s cannot be finished: %v", job.Namespace, job.Name, err)
				}
			}
		}
		if ctx.Err() == nil {
			t.Error("the watch of Jobs ended: no Job is finished any more")
		}
	}()
}

func finish(ctx context.Context, workload client.Client, job *batchv1.Job) error {
	if job.Status.CompletionTime != nil {
		return nil
	}
	now := metav1.Now()
	job.Status.StartTime, job.Status.CompletionTime, job.Status.Succeeded = &now, &now, 1
	job.Status.Ready, job.Status.UncountedTerminatedPods = ptr.To(int32(0)), &batchv1.UncountedTerminatedPods{}
	for _, condition := range []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobComplete} {
		job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{
			Type: condition, Status: corev1.ConditionTrue, Reason: "CompletionsReached", LastProbeTime: now, LastTransitionTime: now,
		})
	}
	// An API server of a busy machine may not answer in time.
	return retry.OnError(retry.DefaultBackoff, func(error) bool { return ctx.Err() == nil }, func() error {
		err := workload.Status().Update(ctx, job)
		if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
			return nil // It changed meanwhile: that is another event.
		}
		return err
	})
}
