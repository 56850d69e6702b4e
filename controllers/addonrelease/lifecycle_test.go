package addonrelease

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
)

const oneConfigMap = `
apiVersion: v1
kind: ConfigMap
metadata: {name: %s}
data: {key: value}
`

func (a *addon) configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: name}}
}

func (a *addon) create(object client.Object, manager string) {
	a.t.Helper()
	if err := shared.workload.Create(a.t.Context(), object, client.FieldOwner(manager)); err != nil {
		a.t.Fatal(err)
	}
}

func (a *addon) waitGone(object client.Object) {
	a.t.Helper()
	eventually(a.t, object.GetName()+" is gone", func() (bool, string) {
		err := a.fetch(object)
		return apierrors.IsNotFound(err), fmt.Sprint(err)
	})
}

// end deletes the release, and waits until it has ended.
func (a *addon) end() {
	a.t.Helper()
	release := a.get()
	if err := shared.management.Delete(a.t.Context(), release); err != nil {
		a.t.Fatal(err)
	}
	eventually(a.t, "the release is gone", func() (bool, string) {
		now := a.get()
		return now.UID == "", describeConditions(now)
	})
}

func (a *addon) namespaceObject() *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: a.namespace}}
}

// messageOf returns the message of Ready.
func messageOf(release *addonsv1alpha1.AddonRelease) string {
	for _, c := range release.Status.Conditions {
		if c.Type == metav1alpha1.ConditionReady {
			return c.Message
		}
	}
	return ""
}

func TestPrunesWhatLeftTheSource(t *testing.T) {
	t.Parallel()
	a := newAddon(t, fmt.Sprintf(oneConfigMap, "keep")+"---"+fmt.Sprintf(oneConfigMap, "drop"))
	a.waitReady()
	a.apply(fmt.Sprintf(oneConfigMap, "keep"))
	release := a.waitReady()
	a.waitGone(a.configMap("drop"))
	if err := a.fetch(a.configMap("keep")); err != nil {
		t.Error(err)
	}
	if len(release.Status.Inventory) != 2 {
		t.Errorf("inventory is %v, want the ConfigMap and its namespace", release.Status.Inventory)
	}
}

func TestDeletionRemovesEverythingAndTheNamespaceItMade(t *testing.T) {
	t.Parallel()
	a := newAddon(t, webAndSettings)
	a.waitReady()
	if err := shared.management.Delete(t.Context(), a.get()); err != nil {
		t.Fatal(err)
	}
	a.waitGone(a.deployment())
	a.waitGone(a.settings())
	a.waitGone(a.namespaceObject())
}

func TestDeletionLeavesANamespaceThatOthersUse(t *testing.T) {
	t.Parallel()
	a := newAddon(t, fmt.Sprintf(oneConfigMap, "ours"))
	a.waitReady()
	a.create(a.configMap("theirs"), "kubectl-create")
	t.Cleanup(func() {
		if err := shared.workload.Delete(context.Background(), a.namespaceObject()); err != nil {
			t.Error(err)
		}
	})
	if err := shared.management.Delete(t.Context(), a.get()); err != nil {
		t.Fatal(err)
	}
	a.waitGone(a.configMap("ours"))
	eventually(t, "the release is gone", func() (bool, string) {
		return a.get().UID == "", describeConditions(a.get())
	})
	namespace := a.namespaceObject()
	if err := a.fetch(namespace); err != nil || namespace.DeletionTimestamp != nil {
		t.Errorf("the namespace of others went with the add-on: %v", err)
	}
}

func TestOrphanLeavesTheObjects(t *testing.T) {
	t.Parallel()
	a := newAddon(t, fmt.Sprintf(oneConfigMap, "stay"), func(spec *addonsv1alpha1.AddonReleaseSpec) {
		spec.DeletionPolicy = metav1alpha1.DeletionPolicyOrphan
	})
	a.waitReady()
	a.end()
	if err := a.fetch(a.configMap("stay")); err != nil {
		t.Error(err)
	}
}

func TestAHelmReleasesObjectIsAConflict(t *testing.T) {
	t.Parallel()
	a := newAddon(t, fmt.Sprintf(oneConfigMap, "first"))
	a.waitReady()
	for _, data := range []string{"other", "value"} { // A conflict of fields, and one that agrees by chance.
		theirs := a.configMap("chart-" + data)
		theirs.Data = map[string]string{"key": data}
		theirs.Labels = map[string]string{"app.kubernetes.io/managed-by": "Helm"}
		theirs.Annotations = map[string]string{"meta.helm.sh/release-name": "valkey", "meta.helm.sh/release-namespace": a.namespace}
		a.create(theirs, "helm")
		a.apply(fmt.Sprintf(oneConfigMap, "first") + "---" + fmt.Sprintf(oneConfigMap, theirs.Name))
		release := a.waitFor(metav1alpha1.ConditionStalled, metav1.ConditionTrue, metav1alpha1.ReasonConflict)
		if message := messageOf(release); !strings.Contains(message, "Helm release "+a.namespace+"/valkey") {
			t.Errorf("the message does not name the owner: %s", message)
		}
		if err := a.fetch(theirs); err != nil || theirs.Labels[metav1alpha1.LabelManagedBy] != "" || theirs.Data["key"] != data {
			t.Errorf("it was taken all the same: %v %v %v", err, theirs.Labels, theirs.Data)
		}
		a.apply(fmt.Sprintf(oneConfigMap, "first"))
		a.waitReady()
		if err := a.fetch(theirs); err != nil {
			t.Errorf("it was pruned though it was never ours: %v", err)
		}
	}
}

func TestAnotherInstallationsObjectIsAConflict(t *testing.T) {
	t.Parallel()
	a := newAddon(t, fmt.Sprintf(oneConfigMap, "first"))
	a.waitReady()
	theirs := a.configMap("theirs")
	theirs.APIVersion, theirs.Kind = "v1", "ConfigMap"
	theirs.Data = map[string]string{"key": "value"} // Just as it would be of ours.
	theirs.Labels = map[string]string{metav1alpha1.LabelManagedBy: "another-installation"}
	manager := client.FieldOwner(managedfields.ManagerOf("another-installation"))
	if err := shared.workload.Patch(t.Context(), theirs, client.Apply, manager); err != nil { //nolint:staticcheck // Typed.
		t.Fatal(err)
	}
	a.apply(fmt.Sprintf(oneConfigMap, "first") + "---" + fmt.Sprintf(oneConfigMap, "theirs"))
	release := a.waitFor(metav1alpha1.ConditionStalled, metav1.ConditionTrue, metav1alpha1.ReasonConflict)
	if message := messageOf(release); !strings.Contains(message, "another installation of Daytwo (another-installation)") {
		t.Errorf("the message does not name the owner: %s", message)
	}
	if err := a.fetch(theirs); err != nil || theirs.Labels[metav1alpha1.LabelManagedBy] != "another-installation" {
		t.Errorf("it was taken all the same: %v %v", err, theirs.Labels)
	}
	a.apply(fmt.Sprintf(oneConfigMap, "first"))
	a.waitReady()
}

// A stalled release is looked at again after minutes; nobody has to wait that long.
func TestARequestMakesAStalledReleaseTryAtOnce(t *testing.T) {
	t.Parallel()
	requests := map[string]func(*addonsv1alpha1.AddonRelease){
		"OnTheTarget": func(release *addonsv1alpha1.AddonRelease) {
			release.Annotations = map[string]string{metav1alpha1.AnnotationRequestedAt: "now"}
		},
		"OnThePolicy": func(release *addonsv1alpha1.AddonRelease) { release.Spec.RequestedAt = "now" },
	}
	for where, request := range requests {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			a := newAddon(t, fmt.Sprintf(oneConfigMap, "first"))
			a.waitReady()
			theirs := a.configMap("theirs")
			theirs.Annotations = map[string]string{"meta.helm.sh/release-name": "valkey", "meta.helm.sh/release-namespace": a.namespace}
			a.create(theirs, "helm")
			a.apply(fmt.Sprintf(oneConfigMap, "first") + "---" + fmt.Sprintf(oneConfigMap, theirs.Name))
			a.waitFor(metav1alpha1.ConditionStalled, metav1.ConditionTrue, metav1alpha1.ReasonConflict)
			if err := shared.workload.Delete(t.Context(), theirs); err != nil {
				t.Fatal(err)
			}
			a.change(request)
			if handled := a.waitReady().Status.HandledRequest; handled != "now" {
				t.Errorf("the request that was acted on is %q", handled)
			}
		})
	}
}

func TestAnotherAddonsObjectIsAConflict(t *testing.T) {
	t.Parallel()
	first := newAddon(t, fmt.Sprintf(oneConfigMap, "shared"))
	first.waitReady()
	t.Run("Second", func(t *testing.T) {
		second := newAddon(t, fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shared, namespace: %s}\n", first.namespace))
		release := second.waitFor(metav1alpha1.ConditionStalled, metav1.ConditionTrue, metav1alpha1.ReasonConflict)
		if message := messageOf(release); !strings.Contains(message, "SaaSAddon default/"+first.name) {
			t.Errorf("the message does not name the owner: %s", message)
		}
	})
	first.waitReady()
	if err := first.fetch(first.configMap("shared")); err != nil {
		t.Errorf("the second add-on's end took the first one's object: %v", err)
	}
}

func TestAnObjectMadeByHandIsTakenOver(t *testing.T) {
	t.Parallel()
	a := newAddon(t, fmt.Sprintf(oneConfigMap, "first"))
	a.waitReady()
	byHand := a.configMap("by-hand")
	byHand.Data = map[string]string{"key": "other", "extra": "1"}
	a.create(byHand, "kubectl-create")
	a.apply(fmt.Sprintf(oneConfigMap, "first") + "---" + fmt.Sprintf(oneConfigMap, "by-hand"))
	a.waitReady()
	if err := a.fetch(byHand); err != nil || len(byHand.Data) != 1 || byHand.Data["key"] != "value" {
		t.Errorf("got %v %v", err, byHand.Data)
	}
}

const definitionAndInstance = `
apiVersion: example.com/v1
kind: Widget
metadata: {name: one}
spec: {size: 3}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets, singular: widget, listKind: WidgetList}
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties: {spec: {type: object, properties: {size: {type: integer}}}}
`

func TestDefinitionsComeFirstAndAreAwaited(t *testing.T) {
	t.Parallel()
	a := newAddon(t, definitionAndInstance)
	release := a.waitReady()
	if len(release.Status.Inventory) != 3 {
		t.Errorf("inventory is %v", release.Status.Inventory)
	}
}

func TestBadManifestsAreNamed(t *testing.T) {
	t.Parallel()
	rows := []struct {
		name, text, reason string
		says               []string
	}{
		{"InvalidYAML", "apiVersion: v1\nkind: [", addonsv1alpha1.ReasonInvalidManifest, []string{"inline"}},
		{"AnUnknownKind", "apiVersion: example.org/v1\nkind: Gadget\nmetadata: {name: a}\n", metav1alpha1.ReasonUnknownKind, []string{"Gadget", "example.org/v1"}},
		{"AMissingKey", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: '{{ .Values.size }}'}\n", addonsv1alpha1.ReasonRenderFailed, []string{"Values"}},
		{"AMissingLabel", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: '{{ .Cluster.Labels.nope }}'}\n", addonsv1alpha1.ReasonRenderFailed, []string{"nope"}},
		{"AnUnknownField", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndatta: {a: b}\n", metav1alpha1.ReasonRefused, []string{"ConfigMap", "datta"}},
		{"AnInvalidValue", "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: [{port: 99999}]}\n", metav1alpha1.ReasonRefused, []string{"Service", "port"}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			a := newAddon(t, row.text)
			release := a.waitFor(metav1alpha1.ConditionStalled, metav1.ConditionTrue, row.reason)
			for _, word := range row.says {
				if !strings.Contains(messageOf(release), word) {
					t.Errorf("the message does not name %q: %s", word, messageOf(release))
				}
			}
		})
	}
}

func TestAFailingRevisionIsNeverShownReady(t *testing.T) {
	t.Parallel()
	a := newAddon(t, fmt.Sprintf(oneConfigMap, "fine"))
	a.waitReady()
	a.apply(fmt.Sprintf(oneConfigMap, "fine") + "---\napiVersion: v1\nkind: Service\nmetadata: {name: bad}\nspec: {ports: [{port: 99999}]}\n")
	release := a.waitFor(metav1alpha1.ConditionReady, metav1.ConditionFalse, metav1alpha1.ReasonRefused)
	if release.Status.Revision == release.Spec.Revision {
		t.Error("the revision counts as applied")
	}
	a.apply(fmt.Sprintf(oneConfigMap, "fine"))
	a.waitReady()
}

func TestAnAddonMayGrantRights(t *testing.T) {
	t.Parallel()
	a := newAddon(t, `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects: [{kind: ServiceAccount, name: default}]
`)
	a.waitReady()
	if err := a.fetch(&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: "reader"}}); err != nil {
		t.Error(err)
	}
}

func TestAMissingRevisionIsNamed(t *testing.T) {
	t.Parallel()
	a := newAddon(t, fmt.Sprintf(oneConfigMap, "a"), func(spec *addonsv1alpha1.AddonReleaseSpec) { spec.Revision = "gone-0123456789" })
	release := a.waitFor(metav1alpha1.ConditionStalled, metav1.ConditionTrue, metav1alpha1.ReasonRevisionNotFound)
	if !strings.Contains(messageOf(release), "gone-0123456789") {
		t.Error(messageOf(release))
	}
}

func TestAnUnreachableClusterKeepsItsTargetUntilItIsAbandoned(t *testing.T) {
	t.Parallel()
	a := newAddon(t, fmt.Sprintf(oneConfigMap, "left"))
	a.waitReady()
	// Nobody may change a target's clusterRef, so one for a cluster that does not exist is written anew.
	ghost := &addonsv1alpha1.AddonRelease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: a.name + "-ghost", Finalizers: []string{metav1alpha1.FinalizerTarget}},
		Spec:       addonsv1alpha1.AddonReleaseSpec{TargetSpec: metav1alpha1.TargetSpec{ClusterRef: metav1alpha1.ClusterReference{Namespace: "default", Name: "ghost"}, Revision: a.get().Spec.Revision}},
	}
	if err := shared.management.Create(t.Context(), ghost); err != nil {
		t.Fatal(err)
	}
	inventory := `{"status":{"inventory":[{"id":"v1/ConfigMap/a/left","uid":"1","fp":"1"}],"drift":{"count":0}}}`
	if err := shared.management.Status().Patch(t.Context(), ghost, client.RawPatch(types.MergePatchType, []byte(inventory))); err != nil {
		t.Fatal(err)
	}
	if err := shared.management.Delete(t.Context(), ghost); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it says what is left where", func() (bool, string) {
		err := shared.management.Get(t.Context(), client.ObjectKeyFromObject(ghost), ghost)
		message := messageOf(ghost)
		return err == nil && strings.Contains(message, "ConfigMap a/left") && strings.Contains(message, metav1alpha1.AnnotationAbandon), message
	})
	before := ghost.DeepCopy()
	ghost.Annotations = map[string]string{metav1alpha1.AnnotationAbandon: "true"}
	if err := shared.management.Patch(t.Context(), ghost, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is let go", func() (bool, string) {
		err := shared.management.Get(t.Context(), client.ObjectKeyFromObject(ghost), ghost)
		return apierrors.IsNotFound(err), fmt.Sprint(err)
	})
	if left := orphansLeftBy(t, ghost.Name); len(left) != 1 || left[0].Objects[0].UID != "1" {
		t.Errorf("the records say %+v", left)
	}
}

func TestANamespaceOfOthersKeepsItsLabelsAndStays(t *testing.T) {
	t.Parallel()
	name := "ofothers-" + strings.ToLower(t.Name()[:8])
	theirs := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}}}
	if err := shared.workload.Create(t.Context(), theirs, client.FieldOwner("kubectl-create")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := shared.workload.Delete(context.Background(), theirs); err != nil {
			t.Error(err)
		}
	})
	a := newAddonIn(t, name, fmt.Sprintf(oneConfigMap, "ours"))
	a.waitReady()
	check := func(when string) {
		t.Helper()
		if err := a.fetch(theirs); err != nil || theirs.DeletionTimestamp != nil ||
			theirs.Labels["pod-security.kubernetes.io/enforce"] != "restricted" || theirs.Labels[metav1alpha1.LabelManagedBy] != "" {
			t.Errorf("%s: %v %v", when, err, theirs.ObjectMeta)
		}
	}
	check("while the add-on is there")
	if err := shared.management.Delete(t.Context(), a.get()); err != nil {
		t.Fatal(err)
	}
	a.waitGone(a.configMap("ours"))
	eventually(t, "the release is gone", func() (bool, string) { return a.get().UID == "", describeConditions(a.get()) })
	check("after it")
}

func TestADriftedDeploymentThatIsLeftAsItIsStaysReady(t *testing.T) {
	t.Parallel()
	a := newAddon(t, webAndSettings, func(spec *addonsv1alpha1.AddonReleaseSpec) { spec.Drift.Mode = metav1alpha1.DriftReport })
	a.waitReady()
	a.scale("kubectl", 3)
	a.waitFor(metav1alpha1.ConditionDrifted, metav1.ConditionTrue, metav1alpha1.ReasonReported)
	a.waitReady()
}
