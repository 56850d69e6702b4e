package controllers

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

// chartPhase is something in the life of a chart's release that a manager is killed in.
type chartPhase struct {
	name string
	// before are the steps that lead to it, and act is the step itself.
	before []chartStep
	act    chartStep
	// kills says which writes the manager is killed after: any, if nil. Of those it is every so manyth, as killAfterEach
	// says; sampledKills, if zero.
	kills func(*http.Request) bool
	every int
}

type chartStep func(w *chartEnv, name string)

// TestKilledInTheLifeOfAChartItEndsWhereAnUndisturbedRunEnds does to charts, with their hooks, records
// and generated passwords, what TestKilledBetweenAnyTwoWritesItEndsWhereAnUndisturbedRunEnds does to manifests.
func TestKilledInTheLifeOfAChartItEndsWhereAnUndisturbedRunEnds(t *testing.T) {
	t.Parallel()
	w := newChartEnv(t)
	w.killInEach([]chartPhase{
		{name: "install", act: (*chartEnv).installChart},
		{name: "upgrade", before: []chartStep{(*chartEnv).installChart}, act: (*chartEnv).upgradeChart},
		{name: "rollback", before: []chartStep{(*chartEnv).installChart, (*chartEnv).upgradeChart}, act: (*chartEnv).rollbackChart},
		{name: "uninstall", before: []chartStep{(*chartEnv).installChart}, act: (*chartEnv).uninstallChart},
	})
}

// killInEach plays each phase undisturbed, and then with each of its writes as the manager's last.
func (w *chartEnv) killInEach(phases []chartPhase) {
	t := w.t
	for i, phase := range phases {
		if phase.kills == nil {
			phase.kills = anyWrite
		}
		w.failpoint.count(phase.kills)
		undisturbed, _ := w.play(phase, phase.name+"-undisturbed", forever, "")
		killAfterEach(t, phase.name+"/", i, max(phase.every, sampledKills), func(t *testing.T, last int) bool {
			w.t = t
			_, blew := w.play(phase, fmt.Sprintf("%s-%d", phase.name, last), last, undisturbed)
			return blew
		})
		w.t = t
		w.sweep()
	}
}

// play lets one write be the last. It returns where it ends, which must be as wanted unless that is empty, and
// whether there was such a write.
func (w *chartEnv) play(p chartPhase, name string, last int, want string) (end string, blew bool) {
	w.t.Helper()
	undone := func() string { return w.unsettled(name) }
	for _, step := range p.before {
		step(w, name)
		w.await(undone)
	}
	blown := w.failpoint.arm(last)
	p.act(w, name)
	if last != forever && w.blows(blown, undone) {
		blew = true
		w.end()
		w.checkRecord(name)
		w.restarted()
	}
	w.await(func() string {
		if why := w.unsettled(name); why != "" {
			return why
		}
		end = strings.ReplaceAll(w.describe(name), name, "NAME")
		return endsOtherwise(end, want)
	})
	w.played = append(w.played, name)
	return end, blew
}

// sweep uninstalls what the manager was killed over, all at once, and looks whether anything is left.
func (w *chartEnv) sweep() {
	w.t.Helper()
	for _, name := range w.played {
		addon := &addonsv1alpha1.SaaSAddon{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
		if err := w.management.Delete(w.t.Context(), addon); client.IgnoreNotFound(err) != nil {
			w.t.Fatal(err)
		}
	}
	for _, name := range w.played {
		w.await(func() string { return w.unsettled(name) })
		w.checkNothingLeaked(name)
		left := &corev1.SecretList{}
		if w.list(left, client.InNamespace(name)); len(left.Items) > 0 {
			w.t.Errorf("%s left its password or records in the cluster, such as %s", name, left.Items[0].Name)
		}
	}
	w.played = nil
}

// unsettled says why an add-on is not ready at its newest generation, nor gone if it was deleted.
func (w *chartEnv) unsettled(name string) string {
	addon := &addonsv1alpha1.SaaSAddon{}
	err := w.management.Get(context.Background(), client.ObjectKey{Namespace: "default", Name: name}, addon)
	if apierrors.IsNotFound(err) {
		return ""
	}
	ready := meta.FindStatusCondition(addon.Status.Conditions, metav1alpha1.ConditionReady)
	if err != nil || !addon.DeletionTimestamp.IsZero() || ready == nil || ready.Status != metav1.ConditionTrue || ready.ObservedGeneration != addon.Generation {
		return fmt.Sprintf("%s is not done: %v, %s", name, err, expect.Describe(addon.Status.Conditions))
	}
	return ""
}

// chartExplanation tells of each target that is not ready, and of what the manager is doing.
func (w *chartEnv) chartExplanation() string {
	targets := &addonsv1alpha1.AddonReleaseList{}
	text := ""
	if err := w.management.List(context.Background(), targets); err != nil {
		text = err.Error()
	}
	for _, target := range targets.Items {
		if meta.IsStatusConditionTrue(target.Status.Conditions, metav1alpha1.ConditionReady) {
			continue
		}
		text += fmt.Sprintf("\n%s: %s", target.Name, expect.Describe(target.Status.Conditions))
		if target.Status.Helm != nil && target.Status.Helm.Operation != nil {
			text += fmt.Sprintf("\n  operation %+v", *target.Status.Helm.Operation)
		}
		text += "\n  " + w.log.about(target.Name)
	}
	jobs := &batchv1.JobList{}
	if err := w.workload.List(context.Background(), jobs); err != nil {
		text += "\n" + err.Error()
	}
	for _, job := range jobs.Items {
		text += fmt.Sprintf("\nJob %s %s: %+v", job.Name, job.UID, job.Status.Conditions)
	}
	return text + "\n" + w.log.about("watch ended") + "\n" + working()
}

// working are the stacks of what the managers are doing.
func working() string {
	var stacks strings.Builder
	if err := pprof.Lookup("goroutine").WriteTo(&stacks, 1); err != nil {
		return err.Error()
	}
	all := strings.Split(stacks.String(), "\n\n")
	return strings.Join(slices.DeleteFunc(all, func(stack string) bool { return !strings.Contains(stack, "daytwo/controllers/") }), "\n\n")
}

func (w *chartEnv) installChart(name string) {
	w.t.Helper()
	w.create(w.addon(name, olderChart))
}

func (w *chartEnv) addon(name, version string) *addonsv1alpha1.SaaSAddon {
	return &addonsv1alpha1.SaaSAddon{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: addonsv1alpha1.SaaSAddonSpec{
			PolicySpec: metav1alpha1.PolicySpec{ClusterNames: []string{"prod"}}, Namespace: name, CreateNamespace: true,
			Source: addonsv1alpha1.AddonSource{Chart: &addonsv1alpha1.ChartSource{
				Repository: w.repository, Name: "crash", Version: version, CARef: &metav1alpha1.LocalReference{Name: "registry-ca"},
			}},
		},
	}
}

func (w *chartEnv) create(addon *addonsv1alpha1.SaaSAddon) {
	w.t.Helper()
	if err := w.management.Create(w.t.Context(), addon); err != nil {
		w.t.Fatal(err)
	}
}

func (w *chartEnv) upgradeChart(name string)   { w.setVersion(name, newerChart) }
func (w *chartEnv) rollbackChart(name string)  { w.setVersion(name, olderChart) }
func (w *chartEnv) uninstallChart(name string) { w.delete(name) }

func (w *chartEnv) setVersion(name, version string) {
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
