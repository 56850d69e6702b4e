package controllers

import (
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmcommon "helm.sh/helm/v4/pkg/release/common"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/helm"
)

// describe is all that a release left: what is in the cluster, in the records, and in the inventory; and how
// often each object was made.
func (w *chartEnv) describe(name string) string {
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
	versions := 0
	for _, config := range configs.Items {
		if config.Name == "kube-root-ca.crt" {
			continue
		}
		text = append(text, "ConfigMap "+config.Name+" "+config.Data["value"])
		if strings.Contains(config.Name, "-only-in-") {
			versions++
		}
		if used, ok := config.Data["password"]; ok && used != password {
			text = append(text, wrong+"two renderings are mixed")
		}
	}
	if versions > 1 {
		text = append(text, wrong+"what only another version has is there too")
	}
	jobs := &batchv1.JobList{}
	w.list(jobs, client.InNamespace(name))
	for _, job := range jobs.Items {
		text = append(text, "Job "+job.Name)
	}
	text = append(append(text, w.configs.testimony(name, name)...), w.jobs.testimony(name, name)...)
	return strings.Join(append(text, w.describeTargets(name)...), "\n")
}

func (w *chartEnv) describeTargets(name string) []string {
	w.t.Helper()
	targets := &addonsv1alpha1.AddonReleaseList{}
	if err := w.management.List(w.t.Context(), targets, client.MatchingLabels{metav1alpha1.LabelPolicy: name}); err != nil {
		w.t.Fatal(err)
	}
	if len(targets.Items) == 0 {
		return []string{"no targets"}
	}
	var text []string
	for _, entry := range targets.Items[0].Status.Inventory {
		text = append(text, "inventory "+entry.ID)
		if entry.UID == "" {
			text = append(text, wrong+"it is only intended")
		}
	}
	kept := &corev1.SecretList{}
	if err := w.management.List(w.t.Context(), kept, client.MatchingLabels{metav1alpha1.LabelPolicy: targets.Items[0].Name}); err != nil {
		w.t.Fatal(err)
	}
	return append(text, fmt.Sprintf("%d renderings", len(kept.Items)))
}

func (w *chartEnv) list(list client.ObjectList, options ...client.ListOption) {
	w.t.Helper()
	if err := w.workload.List(w.t.Context(), list, options...); err != nil {
		w.t.Fatal(err)
	}
}

// checkRecord makes sure that a record of ours that says deployed does not say so before it is: whoever looks
// at the release now, with nobody there who might put it right, must find what it says.
func (w *chartEnv) checkRecord(name string) {
	w.t.Helper()
	addon := &addonsv1alpha1.SaaSAddon{}
	err := w.management.Get(w.t.Context(), client.ObjectKey{Namespace: "default", Name: name}, addon)
	if err != nil || !addon.DeletionTimestamp.IsZero() {
		return // Uninstalling removes the record last.
	}
	record, err := w.helm(w.workloadConfig).Status(releaseOf(name), 0)
	if err != nil || record.Info.Status != helmcommon.StatusDeployed {
		return // There is none yet, or it says that something is under way.
	}
	settings := &corev1.ConfigMap{}
	if err := w.workload.Get(w.t.Context(), client.ObjectKey{Namespace: name, Name: name + "-settings"}, settings); err != nil {
		w.t.Fatal(err)
	}
	if version := record.Chart.Metadata.Version; settings.Data["value"] != version {
		w.t.Errorf("record %d says that %s is deployed, and it is %s", record.Version, version, settings.Data["value"])
	}
}
