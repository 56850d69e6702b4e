package controllers

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

func (w *backupEnv) enrollments(policy string) ([]backupv1alpha1.BackupEnrollment, error) {
	list := &backupv1alpha1.BackupEnrollmentList{}
	err := w.management.List(w.t.Context(), list, client.InNamespace("default"), client.MatchingLabels{metav1alpha1.LabelPolicy: policy})
	return list.Items, err
}

// describe tells where a life is: what is in the workload cluster because of it, and what the management cluster keeps. Two
// lives that are at the same point read the same, apart from their names.
func (w *backupEnv) describe(name string) string {
	w.t.Helper()
	lines := slices.Concat(w.describePolicy(name), w.describeDrill(name))
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func (w *backupEnv) describePolicy(name string) (lines []string) {
	enrollments, err := w.enrollments(name)
	if err != nil {
		return []string{wrong + err.Error()}
	}
	for _, enrollment := range enrollments {
		status := enrollment.Status
		lines = append(lines, fmt.Sprintf("enrolled with %d objects, good backup: %t", len(status.Inventory), status.LastSuccessful != nil))
		if asked := status.Requested; asked != nil {
			lines = append(lines, "asked for a backup: "+string(asked.Action.Outcome))
		}
		if status.Velero != nil {
			lines = append(lines, w.describeVelero(status.Velero.Name)...)
		}
	}
	secrets := &corev1.SecretList{}
	if err := w.management.List(w.t.Context(), secrets, client.MatchingLabels{metav1alpha1.LabelPolicy: name}); err != nil {
		lines = append(lines, wrong+err.Error())
	}
	return append(lines, fmt.Sprintf("%d Secrets in the management cluster", len(secrets.Items)), fmt.Sprintf("%d backups in the cluster", w.countBackups(name)))
}

// describeVelero tells of the objects of an enrollment.
func (w *backupEnv) describeVelero(own string) (lines []string) {
	for _, kind := range []string{"BackupStorageLocation", "Schedule"} {
		object := velero(kind)
		if err := w.workload.Get(w.t.Context(), client.ObjectKey{Namespace: "velero", Name: own}, object); err != nil {
			lines = append(lines, wrong+err.Error())
			continue
		}
		cron, _, _ := unstructured.NestedString(object.Object, "spec", "schedule")
		excluded, _, _ := unstructured.NestedStringSlice(object.Object, "spec", "template", "excludedResources")
		phase, _, _ := unstructured.NestedString(object.Object, "status", "phase")
		// Each life has a start of its own, which follows from the identity of its enrollment.
		lines = append(lines, fmt.Sprintf("%s: schedule: %t, without %v, %s", kind, cron != "", excluded, phase))
	}
	return lines
}

// countBackups counts the Backups of a policy. What Velero was told of a policy outlives it in none of them.
func (w *backupEnv) countBackups(policy string) int {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(velero("BackupList").GroupVersionKind())
	if err := w.workload.List(w.t.Context(), list, client.InNamespace("velero")); err != nil {
		w.t.Fatal(err)
	}
	return len(slices.DeleteFunc(list.Items, func(backup unstructured.Unstructured) bool {
		return !strings.HasPrefix(backup.GetLabels()[metav1alpha1.LabelBackup], policy+"-")
	}))
}

func (w *backupEnv) describeDrill(name string) (lines []string) {
	drill := &backupv1alpha1.DRDrill{}
	if err := w.management.Get(w.t.Context(), client.ObjectKey{Namespace: "default", Name: name}, drill); err == nil {
		lines = append(lines, fmt.Sprintf("drill %s, evidence: %t", drill.Status.Verdict, drill.Status.Evidence != nil))
		for _, one := range drill.Status.Checks {
			lines = append(lines, fmt.Sprintf("check %s %s", one.Name, one.Result))
		}
	}
	namespaces, restores := &corev1.NamespaceList{}, &unstructured.UnstructuredList{}
	restores.SetGroupVersionKind(velero("RestoreList").GroupVersionKind())
	if err := w.workload.List(w.t.Context(), namespaces, client.MatchingLabels{metav1alpha1.LabelDrill: name}); err != nil {
		lines = append(lines, wrong+err.Error())
	}
	if err := w.workload.List(w.t.Context(), restores, client.InNamespace("velero")); err != nil {
		lines = append(lines, wrong+err.Error())
	}
	return append(lines, fmt.Sprintf("%d sandboxes, %d Restores", len(namespaces.Items), len(restores.Items)))
}

// velero is an empty object of a kind of Velero's.
func velero(kind string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(schema.GroupVersionKind{Group: "velero.io", Version: "v1", Kind: kind})
	return object
}
