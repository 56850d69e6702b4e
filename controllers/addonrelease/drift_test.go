package addonrelease

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

const webAndSettings = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, labels: {app: web}}
data: {cluster: "{{ .Cluster.Name }}", maxmemory: 64mb}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
        - name: web
          image: example/web:1.0
          env: [{name: MODE, value: cache}]
          resources: {requests: {cpu: 10m}}
`

func (a *addon) deployment() *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: "web"}}
}

func (a *addon) settings() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: "settings"}}
}

// edit changes an object in the workload cluster as another field manager.
func (a *addon) edit(object client.Object, manager string, patchType types.PatchType, patch string) {
	a.t.Helper()
	if err := shared.workload.Patch(a.t.Context(), object, client.RawPatch(patchType, []byte(patch)), client.FieldOwner(manager)); err != nil {
		a.t.Fatal(err)
	}
}

func (a *addon) fetch(object client.Object) error {
	return shared.workload.Get(context.Background(), client.ObjectKeyFromObject(object), object)
}

// declaredWeb is what of the Deployment the add-on declares, and what others must not add to.
func declaredWeb(web *appsv1.Deployment) any {
	return []any{web.Spec.Replicas, web.Spec.Paused, web.Spec.Template, web.Spec.MinReadySeconds, web.Labels, web.Finalizers, web.OwnerReferences}
}

// nobody is a field manager that leaves no trace: what it removes was ours alone.
const nobody = "kubectl-edit-without-trace"

// TestTakesBack tries every edit that a person or a program may make, and waits until the object is
// what it was before.
func TestTakesBack(t *testing.T) {
	rows := []struct {
		name    string
		manager string
		patch   types.PatchType
		change  string
	}{
		{"AChangedValue", "kubectl-edit", types.StrategicMergePatchType, `{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"evil/web:2.0"}]}}}}`},
		{"ARemovedListItem", nobody, types.JSONPatchType, `[{"op":"remove","path":"/spec/template/spec/containers/0/env"}]`},
		{"ARemovedResource", nobody, types.JSONPatchType, `[{"op":"remove","path":"/spec/template/spec/containers/0/resources/requests"}]`},
		{"AnAddedContainer", "kubectl-edit", types.StrategicMergePatchType, `{"spec":{"template":{"spec":{"containers":[{"name":"sidecar","image":"evil/miner"}]}}}}`},
		{"AnAddedInitContainer", "kubectl-edit", types.StrategicMergePatchType, `{"spec":{"template":{"spec":{"initContainers":[{"name":"init","image":"evil/init"}]}}}}`},
		{"AnAddedVolume", "kubectl-edit", types.StrategicMergePatchType, `{"spec":{"template":{"spec":{"volumes":[{"name":"host","hostPath":{"path":"/"}}]}}}}`},
		{"AnAddedEnv", "kubectl-set", types.StrategicMergePatchType, `{"spec":{"template":{"spec":{"containers":[{"name":"web","env":[{"name":"DEBUG","value":"1"}]}]}}}}`},
		{"AnAddedPort", "kubectl-edit", types.StrategicMergePatchType, `{"spec":{"template":{"spec":{"containers":[{"name":"web","ports":[{"containerPort":22}]}]}}}}`},
		{"AnAddedLabel", "kubectl-label", types.MergePatchType, `{"metadata":{"labels":{"team":"blue"}}}`},
		{"AChangedDefault", "kubectl-patch", types.MergePatchType, `{"spec":{"minReadySeconds":7}}`},
		{"APause", "kubectl-rollout", types.MergePatchType, `{"spec":{"paused":true}}`},
		{"ARenamedContainer", "kubectl-edit", types.JSONPatchType, `[{"op":"replace","path":"/spec/template/spec/containers/0/name","value":"renamed"}]`},
		{"WipedManagedFields", nobody, types.MergePatchType, `{"metadata":{"managedFields":[{}]},"spec":{"minReadySeconds":3}}`},
		{"AnUpdateInOurOwnName", managedfields.ManagerOf(installation), types.MergePatchType, `{"spec":{"minReadySeconds":5}}`},
		{"AnAddedFinalizer", "kubectl-edit", types.MergePatchType, `{"metadata":{"finalizers":["example.com/stay"]}}`},
		{"AnAddedOwnerReference", "kubectl-edit", types.MergePatchType, `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"settings","uid":"%s"}]}}`},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			a := newAddon(t, webAndSettings)
			a.waitReady()
			web, settings := a.deployment(), a.settings()
			if err := errorsOf(a.fetch(web), a.fetch(settings)); err != nil {
				t.Fatal(err)
			}
			want := declaredWeb(web)
			if row.name == "AnAddedOwnerReference" {
				row.change = fmt.Sprintf(row.change, settings.UID)
			}
			a.edit(web, row.manager, row.patch, row.change)
			if equality.Semantic.DeepEqual(want, declaredWeb(web)) && row.name != "WipedManagedFields" {
				t.Fatalf("the edit changed nothing: %s", row.change)
			}
			a.waitRestored(want)
			blamed := row.manager
			if blamed == nobody {
				blamed = ""
			}
			a.waitBlamed("apps/v1/Deployment/"+a.namespace+"/web", blamed)
		})
	}
}

func errorsOf(list ...error) error {
	for _, err := range list {
		if err != nil {
			return err
		}
	}
	return nil
}

// waitRestored waits until the Deployment is as it was, and nobody else owns anything of it.
func (a *addon) waitRestored(want any) {
	a.t.Helper()
	web := a.deployment()
	eventually(a.t, "the Deployment is as declared", func() (bool, string) {
		if err := a.fetch(web); err != nil {
			return false, err.Error()
		}
		for _, entry := range web.ManagedFields {
			if entry.Subresource == "" && (entry.Manager != managedfields.ManagerOf(installation) || entry.Operation != metav1.ManagedFieldsOperationApply) {
				return false, "still owned in part by " + entry.Manager
			}
		}
		got, _ := json.Marshal(declaredWeb(web))
		return equality.Semantic.DeepEqual(want, declaredWeb(web)), string(got)
	})
}

// waitBlamed waits until the status names who it was; an empty manager stands for any.
func (a *addon) waitBlamed(object, manager string) metav1alpha1.DriftCorrection {
	a.t.Helper()
	var found metav1alpha1.DriftCorrection
	eventually(a.t, "the status tells of "+object, func() (bool, string) {
		status := a.get().Status
		drift := status.Drift
		i := slices.IndexFunc(drift.Corrections, func(c metav1alpha1.DriftCorrection) bool {
			return c.Object == object && (manager == "" || c.Manager == manager)
		})
		if i >= 0 {
			found = drift.Corrections[i]
		}
		return i >= 0 && drift.Count > 0, fmt.Sprintf("%+v; %+v", drift, status.Conditions)
	})
	return found
}

// TestDriftIsTakenBackThoughTheTrackerWasToldOfAnOlderRecord has the tracker of the cluster know nothing of the release, as one
// that is made anew while the status of the last apply is not stored yet. The object is changed before the release is looked
// at, and after that.
func TestDriftIsTakenBackThoughTheTrackerWasToldOfAnOlderRecord(t *testing.T) {
	t.Parallel()
	a := newAddon(t, webAndSettings)
	a.waitReady()
	cluster, connected := shared.connections.Get(types.NamespacedName{Namespace: "default", Name: tenantName})
	if !connected {
		t.Fatal("the cluster is not connected")
	}
	cluster.Tracker.Retain(shared.reconciler.Room.Owner(a.get()), func(objects.Key) bool { return false })
	settings := a.settings()
	asDeclared := func() {
		t.Helper()
		eventually(t, "the value is as declared", func() (bool, string) {
			err := a.fetch(settings)
			return err == nil && settings.Data["maxmemory"] == "64mb", fmt.Sprint(err, settings.Data)
		})
	}
	a.edit(settings, "kubectl-edit", types.MergePatchType, `{"data":{"maxmemory":"1gb"}}`)
	a.change(func(release *addonsv1alpha1.AddonRelease) {
		metav1.SetMetaDataAnnotation(&release.ObjectMeta, "example.com/wake", "1")
	})
	asDeclared()
	a.edit(settings, "kubectl-edit", types.MergePatchType, `{"data":{"maxmemory":"2gb"}}`)
	asDeclared()
}

// TestDriftIsToldOfThatWasTakenBackWhileNoStatusCouldBeWritten has the management cluster refuse the release's status.
func TestDriftIsToldOfThatWasTakenBackWhileNoStatusCouldBeWritten(t *testing.T) {
	t.Parallel()
	a := newAddon(t, webAndSettings)
	a.waitReady()
	admit := a.refuseStatus()
	settings := a.settings()
	a.edit(settings, "kubectl-edit", types.MergePatchType, `{"data":{"maxmemory":"1gb"}}`)
	eventually(t, "the value is as declared", func() (bool, string) {
		err := a.fetch(settings)
		return err == nil && settings.Data["maxmemory"] == "64mb", fmt.Sprint(err, settings.Data)
	})
	if drift := a.get().Status.Drift; drift.Count != 0 {
		t.Fatalf("a status was written: %+v", drift)
	}
	admit()
	a.waitBlamed("v1/ConfigMap/"+a.namespace+"/settings", "kubectl-edit")
	if drift := a.get().Status.Drift; drift.Count != 1 || len(drift.Corrections) != 1 {
		t.Errorf("one correction is told as %+v", drift)
	}
}

// refuseStatus has the management cluster refuse every status of the release, until admit is called.
func (a *addon) refuseStatus() (admit func()) {
	a.t.Helper()
	release := a.get()
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: a.name},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
				ResourceNames: []string{a.name},
				RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
					Rule: admissionregistrationv1.Rule{
						APIGroups: []string{addonsv1alpha1.GroupVersion.Group}, APIVersions: []string{"*"}, Resources: []string{"addonreleases/status"},
					},
				},
			}}},
			Validations: []admissionregistrationv1.Validation{{Expression: "false", Message: "not now"}},
		},
	}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: a.name},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: a.name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	}
	if err := errorsOf(shared.management.Create(a.t.Context(), policy), shared.management.Create(a.t.Context(), binding)); err != nil {
		a.t.Fatal(err)
	}
	admit = func() {
		err := errorsOf(shared.management.Delete(context.Background(), binding), shared.management.Delete(context.Background(), policy))
		if client.IgnoreNotFound(err) != nil {
			a.t.Error(err)
		}
	}
	a.t.Cleanup(admit)
	eventually(a.t, "a status is refused", func() (bool, string) {
		err := shared.management.Status().Patch(a.t.Context(), release.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"status":{"revision":"r"}}`)), client.DryRunAll)
		return err != nil && strings.Contains(err.Error(), "not now"), fmt.Sprint(err)
	})
	return admit
}

func TestTakesBackADeletion(t *testing.T) {
	t.Parallel()
	a := newAddon(t, webAndSettings)
	a.waitReady()
	if err := shared.workload.Delete(t.Context(), a.settings()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the ConfigMap is there again", func() (bool, string) {
		settings := a.settings()
		err := a.fetch(settings)
		return err == nil && settings.Data["maxmemory"] == "64mb", fmt.Sprint(err)
	})
	if got := a.waitBlamed("v1/ConfigMap/"+a.namespace+"/settings", ""); got.Operation != "Delete" {
		t.Errorf("operation is %q, want %q", got.Operation, "Delete")
	}
}

func TestTakesBackARemovedLabelOfOurs(t *testing.T) {
	t.Parallel()
	a := newAddon(t, webAndSettings)
	a.waitReady()
	a.edit(a.settings(), "kubectl-label", types.MergePatchType, `{"metadata":{"labels":{"daytwo.dev/managed-by":null}}}`)
	eventually(t, "the label is there again", func() (bool, string) {
		settings := a.settings()
		err := a.fetch(settings)
		return err == nil && settings.Labels[metav1alpha1.LabelManagedBy] == installation, fmt.Sprint(err, settings.Labels)
	})
	if got := a.waitBlamed("v1/ConfigMap/"+a.namespace+"/settings", ""); got.Operation != "Unlabel" {
		t.Errorf("operation is %q, want %q", got.Operation, "Unlabel")
	}
}

func TestTakesBackAnAddedKeyAndAllDataRemoved(t *testing.T) {
	t.Parallel()
	a := newAddon(t, webAndSettings)
	a.waitReady()
	for _, change := range []string{`{"data":{"debug":"true"}}`, `{"data":null}`} {
		a.edit(a.settings(), "kubectl-edit", types.MergePatchType, change)
		eventually(t, "the data is as declared after "+change, func() (bool, string) {
			settings := a.settings()
			err := a.fetch(settings)
			return err == nil && equality.Semantic.DeepEqual(settings.Data, map[string]string{"cluster": tenantName, "maxmemory": "64mb"}), fmt.Sprint(err, settings.Data)
		})
	}
}

func TestTakesBackWhatAnotherManagerApplied(t *testing.T) {
	t.Parallel()
	a := newAddon(t, webAndSettings)
	a.waitReady()
	a.edit(a.settings(), "argocd-controller", types.ApplyPatchType,
		fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings","namespace":%q},"data":{"extra":"1"}}`, a.namespace))
	eventually(t, "the key is gone", func() (bool, string) {
		settings := a.settings()
		err := a.fetch(settings)
		return err == nil && len(settings.Data) == 2, fmt.Sprint(err, settings.Data)
	})
	a.waitBlamed("v1/ConfigMap/"+a.namespace+"/settings", "argocd-controller")
}

// scale sets replicas through the scale subresource, as kubectl and autoscalers do.
func (a *addon) scale(manager string, replicas int32) {
	a.t.Helper()
	web := a.deployment()
	scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}
	if err := shared.workload.SubResource("scale").Update(a.t.Context(), web,
		client.WithSubResourceBody(scale), &client.SubResourceUpdateOptions{UpdateOptions: client.UpdateOptions{FieldManager: manager}}); err != nil {
		a.t.Fatal(err)
	}
}

func (a *addon) waitReplicas(want int32) {
	a.t.Helper()
	web := a.deployment()
	eventually(a.t, fmt.Sprintf("%d replicas", want), func() (bool, string) {
		err := a.fetch(web)
		return err == nil && *web.Spec.Replicas == want, fmt.Sprint(err, *web.Spec.Replicas)
	})
}

func TestTakesBackAPersonsScale(t *testing.T) {
	t.Parallel()
	a := newAddon(t, webAndSettings)
	a.waitReady()
	a.scale("kubectl", 6)
	a.waitBlamed("apps/v1/Deployment/"+a.namespace+"/web", "kubectl")
	a.waitReplicas(2)
}

func TestLeavesAnAutoscalersReplicas(t *testing.T) {
	t.Parallel()
	a := newAddon(t, webAndSettings)
	a.waitReady()
	a.scale("kube-controller-manager", 3)
	// A correction of something else in the same object, and a new revision, leave them as well.
	a.edit(a.deployment(), "kubectl-patch", types.MergePatchType, `{"spec":{"minReadySeconds":7}}`)
	a.waitBlamed("apps/v1/Deployment/"+a.namespace+"/web", "kubectl-patch")
	a.waitReplicas(3)
	a.apply(webAndSettings + "\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\n")
	a.waitReady()
	a.waitReplicas(3)
}

func TestLeavesIgnoredFields(t *testing.T) {
	t.Parallel()
	a := newAddon(t, webAndSettings, func(spec *addonsv1alpha1.AddonReleaseSpec) {
		spec.Drift.Ignore = []metav1alpha1.DriftIgnore{{
			Target: metav1alpha1.ObjectSelector{Kind: "ConfigMap", Name: "settings"}, JSONPointers: []string{"/data/maxmemory"},
		}}
	})
	a.waitReady()
	a.edit(a.settings(), "kubectl-edit", types.MergePatchType, `{"data":{"maxmemory":"1gb"}}`)
	// One that is not ignored is taken back beside it.
	a.edit(a.settings(), "kubectl-edit", types.MergePatchType, `{"data":{"cluster":"other","maxmemory":"2gb"}}`)
	eventually(t, "only the ignored field stays", func() (bool, string) {
		settings := a.settings()
		err := a.fetch(settings)
		return err == nil && settings.Data["maxmemory"] == "2gb" && settings.Data["cluster"] == tenantName, fmt.Sprint(err, settings.Data)
	})
}

func TestReportModeShowsDriftAndLeavesIt(t *testing.T) {
	t.Parallel()
	a := newAddon(t, webAndSettings, func(spec *addonsv1alpha1.AddonReleaseSpec) { spec.Drift.Mode = metav1alpha1.DriftReport })
	a.waitReady()
	a.edit(a.settings(), "kubectl-edit", types.MergePatchType, `{"data":{"maxmemory":"1gb"}}`)
	a.waitFor(metav1alpha1.ConditionDrifted, metav1.ConditionTrue, metav1alpha1.ReasonReported)
	settings := a.settings()
	if err := a.fetch(settings); err != nil || settings.Data["maxmemory"] != "1gb" {
		t.Fatalf("the edit was taken back: %v %v", err, settings.Data)
	}
	// Looked at again, it is still the same change.
	a.change(func(release *addonsv1alpha1.AddonRelease) { release.Spec.RequestedAt = "now" })
	eventually(t, "it is looked at again", func() (bool, string) { return a.get().Status.HandledRequest == "now", "" })
	if counted := a.detected("kubectl-edit"); counted != 1 {
		t.Errorf("the change was counted %v times", counted)
	}
	a.change(func(release *addonsv1alpha1.AddonRelease) { release.Spec.Drift.Mode = metav1alpha1.DriftCorrect })
	a.waitFor(metav1alpha1.ConditionDrifted, metav1.ConditionFalse, metav1alpha1.ReasonInSync)
	eventually(t, "it is taken back now", func() (bool, string) {
		err := a.fetch(settings)
		return err == nil && settings.Data["maxmemory"] == "64mb", fmt.Sprint(err, settings.Data)
	})
}

// What is kept of large metadata does not say who owns what.
func TestTakesBackWhatWasAddedWithLargeMetadata(t *testing.T) {
	t.Parallel()
	a := newAddon(t, webAndSettings)
	a.waitReady()
	web := a.deployment()
	if err := a.fetch(web); err != nil {
		t.Fatal(err)
	}
	want := declaredWeb(web)
	a.edit(web, "kubectl-edit", types.StrategicMergePatchType, fmt.Sprintf(
		`{"metadata":{"annotations":{"ballast":%q}},"spec":{"template":{"spec":{"containers":[{"name":"sidecar","image":"evil/miner"}]}}}}`,
		strings.Repeat("x", 100<<10)))
	a.waitRestored(want)
	if err := a.fetch(web); err != nil || web.Annotations["ballast"] != "" {
		t.Errorf("the annotation was left: %v", err)
	}
}

func TestSuspensionHoldsCorrectionsAndEnds(t *testing.T) {
	t.Parallel()
	a := newAddon(t, webAndSettings)
	a.waitReady()
	a.change(func(release *addonsv1alpha1.AddonRelease) { release.Spec.Suspend = true })
	a.waitReady()
	a.edit(a.settings(), "kubectl-edit", types.MergePatchType, `{"data":{"maxmemory":"1gb"}}`)
	a.waitFor(metav1alpha1.ConditionDrifted, metav1.ConditionTrue, metav1alpha1.ReasonReported)
	a.change(func(release *addonsv1alpha1.AddonRelease) { release.Spec.Suspend = false })
	eventually(t, "it is taken back when the suspension ends", func() (bool, string) {
		settings := a.settings()
		err := a.fetch(settings)
		return err == nil && settings.Data["maxmemory"] == "64mb", fmt.Sprint(err, settings.Data)
	})
}

func TestFightsBackOffAndNameTheOther(t *testing.T) {
	t.Parallel()
	a := newAddon(t, webAndSettings)
	a.waitReady()
	eventually(t, "the fight is named", func() (bool, string) {
		settings := a.settings()
		if err := a.fetch(settings); err == nil && settings.Data["maxmemory"] == "64mb" {
			a.edit(settings, "stubborn-operator", types.MergePatchType, `{"data":{"maxmemory":"1gb"}}`)
		}
		release := a.get()
		for _, c := range release.Status.Conditions {
			if c.Type == metav1alpha1.ConditionDrifted && c.Reason == metav1alpha1.ReasonContested {
				return true, ""
			}
		}
		return false, describeConditions(release)
	})
}

// detected is how many changes by a field manager are counted in the metrics.
func (a *addon) detected(manager string) float64 {
	a.t.Helper()
	families, err := shared.registry.Gather()
	if err != nil {
		a.t.Fatal(err)
	}
	total := 0.0
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			labels := map[string]string{}
			for _, label := range metric.GetLabel() {
				labels[label.GetName()] = label.GetValue()
			}
			if family.GetName() == "daytwo_drift_detected_total" && labels["policy"] == a.name && labels["manager"] == manager {
				total += metric.GetCounter().GetValue()
			}
		}
	}
	return total
}
