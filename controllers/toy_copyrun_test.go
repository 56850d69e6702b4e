package controllers

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/throttle"
)

// aRun lets CopyRuns live on real API servers.
func aRun(t *testing.T, w *toyEnv) {
	for name, play := range map[string]func(*toyEnv, string){
		"EndsAndRemovesWhatItMade":                    (*toyEnv).copyOnce,
		"KeepsWhatItsKindKeeps":                       (*toyEnv).copyAndKeep,
		"FailsAsItsObjectDoes":                        (*toyEnv).copyBadly,
		"FailsWithoutWhatItNeeds":                     (*toyEnv).copyNothing,
		"FailsWhenSomebodyRemovesItsObject":           (*toyEnv).copyAndLose,
		"TimesOut":                                    (*toyEnv).copyTooSlowly,
		"WaitsForAClusterThatIsKnownLate":             (*toyEnv).copyLate,
		"WritesLittleHoweverOftenItsClusterRemarks":   (*toyEnv).copyWithRemarks,
		"IsCancelled":                                 (*toyEnv).cancelCopy,
		"IsDeletedOnTheWay":                           (*toyEnv).deleteCopy,
		"GoesOnWhenItsClusterIsBack":                  (*toyEnv).copyToALostCluster,
		"IsAbandonedInAClusterThatDoesNotAnswer":      (*toyEnv).abandonCopy,
		"EndsWithTheDeletionOfAClusterInWhichItWorks": (*toyEnv).copyToADeletedCluster,
	} {
		t.Run(name, func(t *testing.T) {
			w.t = t
			play(w, "run-"+strings.ToLower(name))
		})
	}
	for i, phase := range copyPhases {
		killAfterEach(t, phase.name+"/", i, 1, func(t *testing.T, last int) bool {
			w.t = t
			return w.playCopy(phase, fmt.Sprintf("run-%s-%d", strings.ToLower(phase.name), last), last)
		})
	}
}

// createCopy makes a CopyRun from the cluster one, and something to copy there. Its second cluster gets the label.
func (w *toyEnv) createCopy(name, to string, change func(*CopyRun)) {
	w.t.Helper()
	source := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"copy": name}}, Data: map[string]string{"text": name}}
	if err := w.clusters["one"].Create(w.t.Context(), source); err != nil {
		w.t.Fatal(err)
	}
	if to != "" {
		w.labelCluster(to, name)
	}
	w.createBareCopy(name, change)
}

func (w *toyEnv) createBareCopy(name string, change func(*CopyRun)) {
	w.t.Helper()
	of := &CopyRun{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	of.Spec = CopyRunSpec{From: "one", To: name, Patience: metav1.Duration{Duration: time.Hour}}
	change(of)
	if err := w.management.Create(w.t.Context(), of); err != nil {
		w.t.Fatal(err)
	}
}

func asItIs(*CopyRun) {}

func (w *toyEnv) copyRun(name string) *CopyRun {
	of := &CopyRun{}
	if err := w.management.Get(context.Background(), client.ObjectKey{Namespace: "default", Name: name}, of); err != nil {
		return nil
	}
	return of
}

func (w *toyEnv) changeCopy(name string, change func(*CopyRun)) {
	w.t.Helper()
	of := w.copyRun(name)
	before := of.DeepCopyObject().(*CopyRun)
	change(of)
	if err := w.management.Patch(w.t.Context(), of, client.MergeFrom(before)); err != nil {
		w.t.Fatal(err)
	}
}

// copiesIn lists what runs of a name made in a cluster.
func (w *toyEnv) copiesIn(cluster, name string) []corev1.ConfigMap {
	list := &corev1.ConfigMapList{}
	if err := w.clusters[cluster].List(context.Background(), list, client.InNamespace("default"), client.HasLabels{metav1alpha1.LabelAction}); err != nil {
		return nil
	}
	var found []corev1.ConfigMap
	for _, one := range list.Items {
		if one.Data["text"] == name {
			found = append(found, one)
		}
	}
	return found
}

// check lets somebody find a copy good, or not; it says what is missing for that.
func (w *toyEnv) check(cluster, name, verdict string) string {
	found := w.copiesIn(cluster, name)
	if len(found) != 1 {
		return fmt.Sprintf("there are %d copies: %s", len(found), w.describeCopy(name))
	}
	if found[0].Annotations["checked"] == verdict {
		return ""
	}
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"metadata":{"annotations":{"checked":%q}}}`, verdict))
	if err := w.clusters[cluster].Patch(context.Background(), &found[0], patch); err != nil {
		return err.Error()
	}
	return ""
}

func (w *toyEnv) describeCopy(name string) string {
	of := w.copyRun(name)
	if of == nil {
		return "there is no run"
	}
	return fmt.Sprintf("outcome %q, %+v, %+v", of.Status.Outcome, of.Status.Actions, of.Status.Conditions)
}

// finished says how a run has not finished with an outcome, or left something; want begins Ready's description.
func (w *toyEnv) finished(name string, outcome metav1alpha1.RunOutcome, want string, clusters ...string) string {
	of := w.copyRun(name)
	if of == nil || of.Status.Outcome != outcome || of.Status.FinishedAt == nil || controllerutil.ContainsFinalizer(of, metav1alpha1.FinalizerRun) {
		return "not finished as " + string(outcome) + ": " + w.describeCopy(name)
	}
	ready := meta.FindStatusCondition(of.Status.Conditions, metav1alpha1.ConditionReady)
	if got := fmt.Sprintf("%s %s: %s", ready.Status, ready.Reason, ready.Message); !strings.Contains(got, want) || ready.ObservedGeneration != of.Generation {
		return "Ready is " + got + ", want " + want
	}
	if meta.FindStatusCondition(of.Status.Conditions, metav1alpha1.ConditionReconciling) != nil {
		return "it has finished, and is Reconciling"
	}
	for _, cluster := range clusters {
		if left := w.copiesIn(cluster, name); len(left) > 0 {
			return fmt.Sprintf("%d copies are left in %s", len(left), cluster)
		}
	}
	return ""
}

func (w *toyEnv) copyOnce(name string) {
	w.createCopy(name, "two", asItIs)
	w.await(func() string { return w.check("two", name, "good") })
	w.await(func() string {
		return w.finished(name, metav1alpha1.RunSucceeded, "True Succeeded: copied to two", "two")
	})
}

func (w *toyEnv) copyAndKeep(name string) {
	w.createCopy(name, "two", func(of *CopyRun) { of.Spec.Keep = true })
	w.await(func() string { return w.check("two", name, "good") })
	w.await(func() string { return w.finished(name, metav1alpha1.RunSucceeded, "True Succeeded: copied to two") })
	if kept := w.copiesIn("two", name); len(kept) != 1 {
		w.t.Errorf("%d copies are kept", len(kept))
	}
}

func (w *toyEnv) copyBadly(name string) {
	w.createCopy(name, "two", asItIs)
	w.await(func() string { return w.check("two", name, "bad") })
	w.await(func() string {
		return w.finished(name, metav1alpha1.RunFailed, "False Failed: it was found to be bad", "two")
	})
	if stalled := meta.FindStatusCondition(w.copyRun(name).Status.Conditions, metav1alpha1.ConditionStalled); stalled == nil {
		w.t.Error("nobody is told that it is not tried again")
	}
}

func (w *toyEnv) copyNothing(name string) {
	w.labelCluster("two", name)
	w.createBareCopy(name, asItIs)
	w.await(func() string {
		return w.finished(name, metav1alpha1.RunFailed, "False Failed: there is nothing to copy in one", "two")
	})
}

func (w *toyEnv) copyAndLose(name string) {
	w.createCopy(name, "two", asItIs)
	w.await(func() string { return w.underWay(name) })
	if err := w.clusters["two"].Delete(w.t.Context(), &w.copiesIn("two", name)[0]); err != nil {
		w.t.Fatal(err)
	}
	w.await(func() string {
		return w.finished(name, metav1alpha1.RunFailed, "somebody else removed ConfigMap default/", "two")
	})
}

// underWay says how a run does not wait for its copy to be checked.
func (w *toyEnv) underWay(name string) string {
	of := w.copyRun(name)
	ready := meta.FindStatusCondition(of.Status.Conditions, metav1alpha1.ConditionReady)
	if ready == nil || ready.Status != metav1.ConditionUnknown || !strings.HasSuffix(ready.Message, "waits to be checked") {
		return "it does not wait to be checked: " + w.describeCopy(name)
	}
	return ""
}

func (w *toyEnv) copyTooSlowly(name string) {
	w.createCopy(name, "two", func(of *CopyRun) { of.Spec.Patience = metav1.Duration{Duration: 2 * time.Second} })
	w.await(func() string { return w.finished(name, metav1alpha1.RunFailed, "did not end within 2s", "two") })
	if a := w.copyRun(name).Status.Actions[0]; a.Outcome != metav1alpha1.ActionTimedOut {
		w.t.Errorf("the action is %s", a.Outcome)
	}
}

func (w *toyEnv) copyLate(name string) {
	w.createCopy(name, "", asItIs)
	w.await(func() string {
		of := w.copyRun(name)
		ready := meta.FindStatusCondition(of.Status.Conditions, metav1alpha1.ConditionReady)
		if ready == nil || ready.Message != "waits for a TenantCluster with the label "+name {
			return w.describeCopy(name)
		}
		return ""
	})
	w.labelCluster("two", name)
	w.await(func() string { return w.check("two", name, "good") })
	w.await(func() string {
		return w.finished(name, metav1alpha1.RunSucceeded, "True Succeeded: copied to two", "two")
	})
}

// copyWithRemarks has the owner of a cluster say something else of a copy again and again, as they may.
func (w *toyEnv) copyWithRemarks(name string) {
	const remarks = 200
	w.createCopy(name, "two", asItIs)
	w.await(func() string { return w.underWay(name) })
	writes := newWitness(w.t, w.management, &CopyRunList{}, client.Object.GetResourceVersion)
	began := time.Now()
	for i := range remarks {
		patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{"remark":"remark %d; "}}}`, i))
		if err := w.clusters["two"].Patch(w.t.Context(), &w.copiesIn("two", name)[0], patch); err != nil {
			w.t.Fatal(err)
		}
	}
	w.await(func() string {
		ready := meta.FindStatusCondition(w.copyRun(name).Status.Conditions, metav1alpha1.ConditionReady)
		if last := fmt.Sprintf("remark %d; ", remarks-1); !strings.Contains(ready.Message, last) {
			return "the latest is not told: " + ready.Message
		}
		return ""
	})
	// One is what the watch began with.
	wrote := writes.count(client.ObjectKey{Namespace: "default", Name: name}) - 1
	if most := throttle.MaxSteps + 1 + int(time.Since(began)/throttle.StepEvery); wrote > most {
		w.t.Errorf("%d remarks led to %d writes, more than %d", remarks, wrote, most)
	}
	w.await(func() string { return w.check("two", name, "good") })
	w.await(func() string {
		return w.finished(name, metav1alpha1.RunSucceeded, "True Succeeded: copied to two", "two")
	})
}

func (w *toyEnv) cancelCopy(name string) {
	w.createCopy(name, "two", asItIs)
	w.await(func() string { return w.underWay(name) })
	w.changeCopy(name, func(of *CopyRun) { of.Spec.Cancel = true })
	w.await(func() string {
		return w.finished(name, metav1alpha1.RunCancelled, "False Cancelled: spec.cancel is true", "two")
	})
}

func (w *toyEnv) deleteCopy(name string) {
	w.createCopy(name, "two", asItIs)
	w.await(func() string { return w.underWay(name) })
	w.deleteRun(name)
	w.await(func() string { return w.copyGone(name) })
}

func (w *toyEnv) deleteRun(name string) {
	w.t.Helper()
	if err := w.management.Delete(w.t.Context(), w.copyRun(name)); err != nil {
		w.t.Fatal(err)
	}
}

// copyGone says how a run, or what it made in two, is still there.
func (w *toyEnv) copyGone(name string) string {
	err := w.management.Get(context.Background(), client.ObjectKey{Namespace: "default", Name: name}, &CopyRun{})
	if left := w.copiesIn("two", name); !apierrors.IsNotFound(err) || len(left) > 0 {
		return fmt.Sprintf("%d copies are left; %s", len(left), w.describeCopy(name))
	}
	return ""
}

func (w *toyEnv) copyToALostCluster(name string) {
	w.createCopy(name, "three", asItIs)
	w.await(func() string { return w.underWay(name) })
	w.clusters["three"].proxy.sever()
	w.await(func() string {
		ready := meta.FindStatusCondition(w.copyRun(name).Status.Conditions, metav1alpha1.ConditionReady)
		if !strings.HasPrefix(ready.Message, "copy: TenantCluster default/three: ") {
			return ready.Message
		}
		return ""
	})
	if left := w.check("three", name, "good"); left != "" {
		w.t.Fatal(left)
	}
	w.clusters["three"].proxy.restore()
	w.await(func() string { return w.finished(name, metav1alpha1.RunSucceeded, "copied to three", "three") })
}

func (w *toyEnv) abandonCopy(name string) {
	w.createCopy(name, "three", asItIs)
	w.await(func() string { return w.underWay(name) })
	w.clusters["three"].proxy.sever()
	w.deleteRun(name)
	w.await(func() string {
		ready := meta.FindStatusCondition(w.copyRun(name).Status.Conditions, metav1alpha1.ConditionReady)
		if !strings.HasPrefix(ready.Message, "Cancelled (it was deleted); ConfigMap default/") || !strings.Contains(ready.Message, metav1alpha1.AnnotationAbandon) {
			return ready.Message
		}
		return ""
	})
	w.changeCopy(name, func(of *CopyRun) {
		metav1.SetMetaDataAnnotation(&of.ObjectMeta, metav1alpha1.AnnotationAbandon, "true")
	})
	w.await(func() string {
		if of := w.copyRun(name); of != nil {
			return w.describeCopy(name)
		}
		return w.abandonedBy(client.ObjectKey{Namespace: "default", Name: name}, "CopyRun")
	})
	w.clusters["three"].proxy.restore()
}

// copyToADeletedCluster deletes a cluster while a run works there: the run ends by itself, and then the cluster goes.
func (w *toyEnv) copyToADeletedCluster(name string) {
	w.await(func() string { return w.connected("three") })
	w.createCopy(name, "three", asItIs)
	w.await(func() string { return w.underWay(name) })
	tenant := &tenancyv1alpha1.TenantCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "three"}}
	if err := w.management.Delete(w.t.Context(), tenant); err != nil {
		w.t.Fatal(err)
	}
	w.await(func() string {
		if err := w.management.Get(w.t.Context(), client.ObjectKeyFromObject(tenant), tenant); !apierrors.IsNotFound(err) {
			return fmt.Sprintf("TenantCluster three: %v, %s; %s", err, readyMessageOf(tenant), w.describeCopy(name))
		}
		return w.finished(name, metav1alpha1.RunCancelled, "False Cancelled: TenantCluster default/three is being deleted", "three")
	})
	w.registerAs("three", "access-three-again", w.clusters["three"].proxy.kubeconfig(w.t))
	w.await(func() string { return w.connected("three") })
}

func (w *toyEnv) connected(cluster string) string {
	tenant := &tenancyv1alpha1.TenantCluster{}
	if err := w.management.Get(context.Background(), client.ObjectKey{Namespace: "default", Name: cluster}, tenant); err != nil {
		return err.Error()
	}
	if !meta.IsStatusConditionTrue(tenant.Status.Conditions, tenancyv1alpha1.ConditionConnected) {
		return cluster + " is not connected: " + readyMessageOf(tenant)
	}
	return ""
}
