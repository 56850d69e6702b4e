package veleroobjects

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
)

// rich says all that is not in Velero's template as it is in ours.
func rich() backupv1alpha1.BackupTemplate {
	return backupv1alpha1.BackupTemplate{
		OrLabelSelectors:   []metav1.LabelSelector{{MatchLabels: map[string]string{"tier": "web"}}},
		CSISnapshotTimeout: &metav1.Duration{Duration: 20 * time.Minute}, ItemOperationTimeout: &metav1.Duration{Duration: time.Hour},
		UploaderConfig: &backupv1alpha1.UploaderConfig{ParallelFilesUpload: 4},
		ResourcePolicies: &backupv1alpha1.ResourcePolicies{VolumePolicies: []backupv1alpha1.VolumePolicy{
			{Action: backupv1alpha1.VolumeAction{Type: backupv1alpha1.SkipVolume}},
		}},
	}
}

// declared are the objects of an enrollment whose policy has a template.
func declared(t *testing.T, template backupv1alpha1.BackupTemplate) (*backupv1alpha1.VeleroObjects, map[string]*unstructured.Unstructured, []string) {
	t.Helper()
	content := content
	content.Template = template
	arranged, err := Arrange(nil, content, nightly, "id-1", decidedAt)
	if err != nil {
		t.Fatal(err)
	}
	arranged.ValidationFrequency = &metav1.Duration{Duration: ValidateEvery}
	spec, err := BackupSpec(content, arranged)
	if err != nil {
		t.Fatal(err)
	}
	list, err := Desired(content, arranged, Credentials{}, spec)
	if err != nil {
		t.Fatal(err)
	}
	objects, kinds := map[string]*unstructured.Unstructured{}, []string{}
	for _, object := range list {
		objects[object.GetKind()], kinds = object, append(kinds, object.GetKind())
	}
	return arranged, objects, kinds
}

func TestTheScheduleCarriesTheTemplateInVelerosTerms(t *testing.T) {
	arranged, objects, kinds := declared(t, rich())
	template, _, _ := unstructured.NestedMap(objects["Schedule"].Object, "spec", "template")
	delete(template, "metadata")
	got, err := json.Marshal(template)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"csiSnapshotTimeout":"20m0s","excludedNamespaces":["velero"],"itemOperationTimeout":"1h0m0s","orLabelSelectors":[{"matchLabels":{"tier":"web"}}],` +
		`"resourcePolicy":{"kind":"configmap","name":"` + arranged.Name + `"},"storageLocation":"` + arranged.Name + `","ttl":"720h0m0s","uploaderConfig":{"parallelFilesUpload":4}}`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if slices.Index(kinds, "ConfigMap") > slices.Index(kinds, "Schedule") {
		t.Errorf("a backup may start before its ConfigMap is there: %v", kinds)
	}
}

func TestResourcePoliciesAreInAConfigMapWithOneKey(t *testing.T) {
	arranged, objects, _ := declared(t, rich())
	data, _, _ := unstructured.NestedStringMap(objects["ConfigMap"].Object, "data")
	if objects["ConfigMap"].GetName() != arranged.Name || len(data) != 1 || data["policies.yaml"] == "" {
		t.Errorf("got %v", objects["ConfigMap"].Object)
	}
}

func TestWithoutResourcePoliciesThereIsNoConfigMap(t *testing.T) {
	template := rich()
	template.ResourcePolicies = nil
	_, objects, kinds := declared(t, template)
	_, named, _ := unstructured.NestedMap(objects["Schedule"].Object, "spec", "template", "resourcePolicy")
	if named || slices.Contains(kinds, "ConfigMap") {
		t.Errorf("got %v, named %t", kinds, named)
	}
}

func TestVeleroKnowsEveryFieldOfATemplate(t *testing.T) {
	template, names := rich(), []string{"a"}
	template.LabelSelector = &metav1.LabelSelector{}
	template.IncludedNamespaces, template.IncludedResources, template.ExcludedResources = names, names, names
	template.IncludeClusterResources, template.SnapshotVolumes = ptr.To(true), ptr.To(true)
	template.SnapshotMoveData, template.DefaultVolumesToFsBackup = ptr.To(true), ptr.To(true)
	hook := []backupv1alpha1.BackupHook{{Exec: backupv1alpha1.ExecHook{
		Container: "db", Command: names, OnError: "Continue", Timeout: &metav1.Duration{Duration: time.Minute},
	}}}
	template.Hooks = &backupv1alpha1.BackupHooks{Resources: []backupv1alpha1.BackupResourceHooks{{
		Name: "flush", IncludedNamespaces: names, ExcludedNamespaces: names, IncludedResources: names, ExcludedResources: names,
		LabelSelector: &metav1.LabelSelector{}, Pre: hook, Post: hook,
	}}}
	_, objects, _ := declared(t, template)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(objects["Schedule"].Object, &velerov1.Schedule{}, true); err != nil {
		t.Error(err)
	}
}
