package controllers

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

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	daytwo "github.com/daytwo-dev/daytwo/apis/common"
	"github.com/daytwo-dev/daytwo/controllers/internal/helm"
	"github.com/daytwo-dev/daytwo/e2e/registry"
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

// chartPhase is something in the life of a chart's release that a manager is killed in.
type chartPhase struct {
	name string
	// before are the steps that lead to it, and act is the step itself.
	before []func(*crashWorld, string)
	act    func(*crashWorld, string)
}

// TestKilledInTheLifeOfAChartItEndsWhereAnUndisturbedRunEnds does to charts, with their hooks, records
// and generated passwords, what the test above does to manifests.
func TestKilledInTheLifeOfAChartItEndsWhereAnUndisturbedRunEnds(t *testing.T) {
	w := newCrashWorld(t)
	w.serveCharts()
	w.finishJobs()
	for _, phase := range []chartPhase{
		{name: "install", act: (*crashWorld).installChart},
		{name: "upgrade", before: []func(*crashWorld, string){(*crashWorld).installChart}, act: (*crashWorld).upgradeChart},
		{name: "rollback", before: []func(*crashWorld, string){(*crashWorld).installChart, (*crashWorld).upgradeChart}, act: (*crashWorld).rollbackChart},
		{name: "uninstall", before: []func(*crashWorld, string){(*crashWorld).installChart}, act: (*crashWorld).delete},
	} {
		undisturbed, _ := w.playChart(phase, phase.name+"-undisturbed", forever)
		for last, blew := 1, true; blew && !t.Failed(); last++ {
			t.Run(fmt.Sprintf("%s/AfterWrite%d", phase.name, last), func(t *testing.T) {
				w.t = t
				var end string
				if end, blew = w.playChart(phase, fmt.Sprintf("%s-%d", phase.name, last), last); end != undisturbed {
					t.Errorf("it ends otherwise:\n%s\nundisturbed:\n%s", end, undisturbed)
				}
			})
		}
		w.t = t
	}
}

// playChart lets one write be the last, and returns where it ends and whether there was such a write.
func (w *crashWorld) playChart(p chartPhase, name string, last int) (string, bool) {
	w.t.Helper()
	for _, step := range p.before {
		step(w, name)
		w.settled(name)
	}
	blown := w.fuse.arm(last)
	p.act(w, name)
	blew := false
	if last != forever {
		if blew = w.chartBlows(name, blown); blew {
			w.end()
			w.fuse.arm(forever)
			w.begin()
		}
	}
	w.settled(name)
	end := w.describeChart(name)
	if !strings.Contains(end, "gone") {
		w.delete(name)
		w.settled(name)
	}
	w.checkNothingLeaked(name)
	return strings.ReplaceAll(end, name, "NAME"), blew
}

// chartBlows waits until the fuse has blown, or everything was done without that.
func (w *crashWorld) chartBlows(name string, blown <-chan struct{}) bool {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	for ctx.Err() == nil {
		select {
		case <-blown:
			return true
		default:
		}
		if w.unsettled(name) == "" {
			return w.fuse.disarm()
		}
		pause(ctx)
	}
	w.t.Fatalf("neither done nor dead: %s", w.unsettled(name))
	return false
}

func (w *crashWorld) settled(name string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	for w.unsettled(name) != "" {
		if pause(ctx); ctx.Err() != nil {
			w.t.Fatal(w.unsettled(name))
		}
	}
}

// unsettled says why an add-on is not ready at its newest generation, nor gone if it was deleted.
func (w *crashWorld) unsettled(name string) string {
	addon := &addonsv1alpha1.SaaSAddon{}
	err := w.management.Get(context.Background(), client.ObjectKey{Namespace: "default", Name: name}, addon)
	if apierrors.IsNotFound(err) {
		return ""
	}
	ready := meta.FindStatusCondition(addon.Status.Conditions, daytwo.ConditionReady)
	if err != nil || !addon.DeletionTimestamp.IsZero() || ready == nil || ready.Status != metav1.ConditionTrue || ready.ObservedGeneration != addon.Generation {
		return fmt.Sprintf("%s is not done: %v, %+v", name, err, addon.Status.Conditions)
	}
	return ""
}

// describeChart is all that a release left: what is in the cluster, in the records, and in the inventory.
func (w *crashWorld) describeChart(name string) string {
	w.t.Helper()
	var text []string
	release := helm.Release{Namespace: name, Name: name}
	password := ""
	secrets := &corev1.SecretList{}
	w.list(secrets, client.InNamespace(name))
	var records []metav1.PartialObjectMetadata
	for _, secret := range secrets.Items {
		if secret.Type == "helm.sh/release.v1" {
			records = append(records, metav1.PartialObjectMetadata{ObjectMeta: secret.ObjectMeta})
			continue
		}
		password = string(secret.Data["value"])
		text = append(text, "Secret "+secret.Name)
	}
	for _, entry := range helm.NewHistory(release, records) {
		text = append(text, fmt.Sprintf("record %d %s", entry.Version, entry.Status))
	}
	configs := &corev1.ConfigMapList{}
	w.list(configs, client.InNamespace(name))
	for _, config := range configs.Items {
		if config.Name == "kube-root-ca.crt" {
			continue
		}
		if used, ok := config.Data["password"]; ok && used != password {
			w.t.Errorf("two renderings were mixed: the password is %q and %q", password, used)
		}
		text = append(text, "ConfigMap "+config.Name+" "+config.Data["value"])
	}
	jobs := &batchv1.JobList{}
	w.list(jobs, client.InNamespace(name))
	for _, job := range jobs.Items {
		text = append(text, "Job "+job.Name)
	}
	return strings.Join(append(text, w.describeTargets(name)...), "\n")
}

func (w *crashWorld) describeTargets(name string) []string {
	w.t.Helper()
	targets := &addonsv1alpha1.AddonReleaseList{}
	if err := w.management.List(w.t.Context(), targets, client.MatchingLabels{daytwo.LabelPolicy: name}); err != nil {
		w.t.Fatal(err)
	}
	if len(targets.Items) == 0 {
		return []string{"gone"}
	}
	var text []string
	for _, entry := range targets.Items[0].Status.Inventory {
		if entry.UID == "" {
			w.t.Errorf("%s is only intended", entry.ID)
		}
		text = append(text, "inventory "+entry.ID)
	}
	kept := &corev1.SecretList{}
	if err := w.management.List(w.t.Context(), kept, client.MatchingLabels{daytwo.LabelPolicy: targets.Items[0].Name}); err != nil {
		w.t.Fatal(err)
	}
	return append(text, fmt.Sprintf("%d renderings", len(kept.Items)))
}

func (w *crashWorld) list(list client.ObjectList, options ...client.ListOption) {
	w.t.Helper()
	if err := w.workload.List(w.t.Context(), list, options...); err != nil {
		w.t.Fatal(err)
	}
}

// serveCharts starts a registry with two versions of the chart.
func (w *crashWorld) serveCharts() {
	w.t.Helper()
	server, err := registry.Start(context.Background(), registry.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = server.Close() })
	for _, version := range []string{"1.0.0", "1.1.0"} {
		if _, err := server.Push(crashArchive(w.t, version)); err != nil {
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

func (w *crashWorld) installChart(name string) {
	w.t.Helper()
	if err := w.management.Create(w.t.Context(), &addonsv1alpha1.SaaSAddon{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: addonsv1alpha1.SaaSAddonSpec{
			ClusterNames: []string{"prod"}, Namespace: name, CreateNamespace: true,
			Source: addonsv1alpha1.AddonSource{Chart: &addonsv1alpha1.ChartSource{
				Repository: w.repository, Name: "crash", Version: "1.0.0", CARef: &daytwo.LocalReference{Name: "registry-ca"},
			}},
		},
	}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *crashWorld) upgradeChart(name string)  { w.setVersion(name, "1.1.0") }
func (w *crashWorld) rollbackChart(name string) { w.setVersion(name, "1.0.0") }

func (w *crashWorld) setVersion(name, version string) {
	w.t.Helper()
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"source": map[string]any{"chart": map[string]any{"version": version}}}})
	if err != nil {
		w.t.Fatal(err)
	}
	addon := &addonsv1alpha1.SaaSAddon{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	if err := w.management.Patch(w.t.Context(), addon, client.RawPatch("application/merge-patch+json", patch)); err != nil {
		w.t.Fatal(err)
	}
}

// finishJobs plays the controller of Jobs, which bare clusters have not: every Job succeeds at once.
func (w *crashWorld) finishJobs() {
	ctx, cancel := context.WithCancel(context.Background())
	w.t.Cleanup(cancel)
	go func() {
		for ; ctx.Err() == nil; pause(ctx) {
			jobs := &batchv1.JobList{}
			if w.workload.List(ctx, jobs) != nil {
				continue
			}
			for i := range jobs.Items {
				finish(ctx, w.workload, &jobs.Items[i])
			}
		}
	}()
}

func finish(ctx context.Context, workload client.Client, job *batchv1.Job) {
	if job.Status.CompletionTime != nil {
		return
	}
	now := metav1.Now()
	job.Status.StartTime, job.Status.CompletionTime, job.Status.Succeeded = &now, &now, 1
	job.Status.Ready, job.Status.UncountedTerminatedPods = ptr.To(int32(0)), &batchv1.UncountedTerminatedPods{}
	for _, condition := range []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobComplete} {
		job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{
			Type: condition, Status: corev1.ConditionTrue, Reason: "CompletionsReached", LastProbeTime: now, LastTransitionTime: now,
		})
	}
	// Deleted, or changed, meanwhile: the next round sees to it.
	_ = workload.Status().Update(ctx, job)
}
