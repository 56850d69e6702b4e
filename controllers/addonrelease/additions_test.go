package addonrelease

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
)

// partsOfAChart are objects into which the programs of charts write. What is in the whole cluster has the add-on's name.
func partsOfAChart(name string) string {
	return strings.ReplaceAll(`
{apiVersion: v1, kind: Secret, metadata: {name: generated}, data: {user: YWRtaW4=}}
---
{apiVersion: v1, kind: Secret, metadata: {name: variables}, data: {MODE: YQ==}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {a: b}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: example/web, envFrom: [{secretRef: {name: variables}}]}]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: NAME}
webhooks:
  - name: check.example.com
    clientConfig: {service: {name: web, namespace: default, path: /}}
    rules: [{apiGroups: [NAME.example.com], apiVersions: [v1], operations: [CREATE], resources: [nothing]}]
    failurePolicy: Ignore
    sideEffects: None
    admissionReviewVersions: [v1]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: NAME-all}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {aggregate: NAME}}]}
rules: []
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: NAME-part, labels: {aggregate: NAME}}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: locations.NAME.example.com}
spec:
  group: NAME.example.com
  names: {kind: Location, plural: locations}
  scope: Namespaced
  versions:
    - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
---
{apiVersion: NAME.example.com/v1, kind: Location, metadata: {name: bucket}, spec: {bucket: b}}
`, "NAME", name)
}

// part is an object of the add-on in its cluster.
func (a *addon) part(group, kind, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: "v1", Kind: kind})
	object.SetName(name)
	if !slices.Contains([]string{"ClusterRole", "ValidatingWebhookConfiguration"}, kind) {
		object.SetNamespace(a.namespace)
	}
	return object
}

func newChartParts(t *testing.T, change ...func(*addonsv1alpha1.AddonReleaseSpec)) *addon {
	t.Helper()
	a := declareAddon(t, "")
	a.start(a.revision(partsOfAChart(a.name)), change...)
	a.waitReady()
	return a
}

const (
	admission = "admissionregistration.k8s.io"
	rbac      = "rbac.authorization.k8s.io"
)

// tolerated are the managers that the status names.
func (a *addon) tolerated() map[string]int32 {
	named := map[string]int32{}
	for _, one := range a.get().Status.Drift.Tolerated {
		named[one.Manager] = one.Objects
	}
	return named
}

func (a *addon) waitTolerated(want map[string]int32) {
	a.t.Helper()
	eventually(a.t, fmt.Sprintf("the status counts %v", want), func() (bool, string) {
		got := a.tolerated()
		return maps.Equal(got, want), fmt.Sprint(got)
	})
}

// TestLeavesWhatProgramsOfAChartWrite has the real aggregation controller, and plays what the programs of public charts do.
func TestLeavesWhatProgramsOfAChartWrite(t *testing.T) {
	t.Parallel()
	a := newChartParts(t)
	programs := []struct {
		object  *unstructured.Unstructured
		manager string
		patch   string
	}{
		{a.part("", "Secret", "generated"), "delivery-server", `{"data":{"password":"c2VjcmV0","key":"a2V5"}}`},
		{a.part("", "ConfigMap", "settings"), "leader", `{"metadata":{"annotations":{"example.com/holder":"a"},"finalizers":["example.com/drain"]}}`},
		{a.part("apps", "Deployment", "web"), "leader", `{"metadata":{"labels":{"example.com/shard":"1"}}}`},
		{a.part(a.name+".example.com", "Location", "bucket"), "velero-server", `{"status":{"phase":"Available"}}`},
	}
	for _, one := range programs {
		a.edit(one.object, one.manager, types.MergePatchType, one.patch)
	}
	t.Cleanup(func() { a.dropFinalizers("leader", programs[1].object) })
	webhook := a.part(admission, "ValidatingWebhookConfiguration", a.name)
	a.edit(webhook, "kubectl-patch", types.JSONPatchType, `[{"op":"add","path":"/webhooks/0/clientConfig/caBundle","value":"LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCi0tLS0tRU5EIENFUlRJRklDQVRFLS0tLS0K"}]`)
	role := a.part(rbac, "ClusterRole", a.name+"-all")
	eventually(t, "the rules are aggregated", func() (bool, string) {
		err := a.fetch(role)
		rules, _, _ := unstructured.NestedSlice(role.Object, "rules")
		return err == nil && len(rules) == 1, fmt.Sprint(err, rules)
	})
	a.waitTolerated(map[string]int32{
		"delivery-server": 1, "leader": 2, "velero-server": 1, "kubectl-patch": 1, "clusterrole-aggregation-controller": 1,
	})
	a.expectUntouched(append([]*unstructured.Unstructured{webhook, role}, programs[0].object, programs[1].object, programs[2].object, programs[3].object)...)
	release := a.get()
	if release.Status.Drift.Count != 0 {
		t.Errorf("taken back: %+v", release.Status.Drift.Corrections)
	}
	// A new revision leaves it too.
	a.apply(partsOfAChart(a.name) + "\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: more}}\n")
	a.waitReady()
	a.expectUntouched(webhook, programs[0].object, programs[1].object, programs[3].object)
}

// dropFinalizers plays programs that are done with objects, which can then be removed.
func (a *addon) dropFinalizers(manager string, list ...*unstructured.Unstructured) {
	for _, object := range list {
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
		if err := shared.workload.Patch(context.Background(), object, patch, client.FieldOwner(manager)); err != nil {
			a.t.Error(err)
		}
	}
}

// expectUntouched checks that nobody wrote the objects since they were read, apart from Kubernetes' own controllers, which
// keep their status.
func (a *addon) expectUntouched(list ...*unstructured.Unstructured) {
	a.t.Helper()
	for _, was := range list {
		is := was.DeepCopy()
		if err := a.fetch(is); err != nil {
			a.t.Fatal(err)
		}
		if now, before := writers(is), writers(was); !equality.Semantic.DeepEqual(now, before) {
			a.t.Errorf("%s %s was written since: %v, and before %v", is.GetKind(), is.GetName(), now, before)
		}
	}
}

// writers are the entries of all but Kubernetes' own controllers; they tell of every write, and when it was.
func writers(object *unstructured.Unstructured) []metav1.ManagedFieldsEntry {
	entries := object.GetManagedFields()
	rules := managedfields.DefaultRules(installation)
	found := rules.Others(entries)
	if ours := rules.Ours(entries); ours >= 0 {
		found = append(found, entries[ours])
	}
	return found
}

func TestTakesBackWhatProgramsAddInSensitivePlaces(t *testing.T) {
	t.Parallel()
	a := newChartParts(t)
	for _, one := range []struct {
		object *unstructured.Unstructured
		patch  string
		fields []string
	}{
		{a.part("", "Secret", "variables"), `{"data":{"LD_PRELOAD":"YQ=="}}`, []string{"data", "LD_PRELOAD"}},
		{a.part("apps", "Deployment", "web"), `{"spec":{"template":{"metadata":{"annotations":{"example.com/a":"b"}}}}}`, []string{"spec", "template", "metadata", "annotations"}},
		{a.part("", "ConfigMap", "settings"), `{"metadata":{"annotations":{"eks.amazonaws.com/role-arn":"arn"}}}`, []string{"metadata", "annotations", "eks.amazonaws.com/role-arn"}},
		{a.part(a.name+".example.com", "Location", "bucket"), `{"spec":{"template":{"spec":{"containers":[{"name":"evil"}]}}}}`, []string{"spec", "template"}},
		{a.part(rbac, "ClusterRole", a.name+"-part"), `{"metadata":{"labels":{"example.com/a":"b"}}}`, []string{"metadata", "labels", "example.com/a"}},
	} {
		a.edit(one.object, "some-operator", types.MergePatchType, one.patch)
		eventually(t, fmt.Sprintf("%v of %s %s is gone", one.fields, one.object.GetKind(), one.object.GetName()), func() (bool, string) {
			err := a.fetch(one.object)
			value, found, _ := unstructured.NestedFieldNoCopy(one.object.Object, one.fields...)
			return err == nil && !found, fmt.Sprint(err, value)
		})
	}
	a.waitBlamed("v1/Secret/"+a.namespace+"/variables", "some-operator")
	// One of them declares rules under the name that may fill them elsewhere.
	part := a.part(rbac, "ClusterRole", a.name+"-part")
	a.edit(part, "clusterrole-aggregation-controller", types.ApplyPatchType, fmt.Sprintf(
		`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":%q,"labels":{"example.com/b":"c"}}}`, part.GetName()))
	a.waitBlamed("rbac.authorization.k8s.io/v1/ClusterRole//"+part.GetName(), "clusterrole-aggregation-controller")
}

// TestAdditionsIsASettingThatTakesEffectAtOnce goes through all settings with the same two additions.
func TestAdditionsIsASettingThatTakesEffectAtOnce(t *testing.T) {
	t.Parallel()
	a := newAddon(t, webAndSettings, func(spec *addonsv1alpha1.AddonReleaseSpec) { spec.Drift.Additions = metav1alpha1.DriftAdditionsNone })
	a.waitReady()
	settings := a.settings()
	a.edit(settings, "kubectl-edit", types.MergePatchType, `{"data":{"debug":"true"}}`)
	a.edit(settings, "some-operator", types.MergePatchType, `{"data":{"state":"1"}}`)
	a.edit(settings, "some-operator", types.MergePatchType, `{"data":{"maxmemory":"1gb"}}`)
	keys := func(want ...string) {
		t.Helper()
		eventually(t, fmt.Sprintf("the keys are %v, as declared", want), func() (bool, string) {
			err := a.fetch(settings)
			return err == nil && slices.Equal(slices.Sorted(maps.Keys(settings.Data)), want) && settings.Data["maxmemory"] == "64mb", fmt.Sprint(err, settings.Data)
		})
	}
	a.waitBlamed("v1/ConfigMap/"+a.namespace+"/settings", "some-operator")
	keys("cluster", "debug", "maxmemory", "state")
	counted := a.get().Status.Drift.Count
	set := func(additions metav1alpha1.DriftAdditions) {
		a.change(func(release *addonsv1alpha1.AddonRelease) { release.Spec.Drift.Additions = additions })
		a.waitFor(metav1alpha1.ConditionDrifted, metav1.ConditionFalse, metav1alpha1.ReasonInSync)
	}
	set(metav1alpha1.DriftAdditionsPeopleAndSensitive)
	keys("cluster", "maxmemory", "state")
	a.waitTolerated(map[string]int32{"some-operator": 1})
	set(metav1alpha1.DriftAdditionsAll)
	keys("cluster", "maxmemory")
	a.waitTolerated(map[string]int32{})
	if now := a.get().Status.Drift.Count; now != counted {
		t.Errorf("other rules are counted as drift: %d and then %d", counted, now)
	}
	a.edit(settings, "some-operator", types.MergePatchType, `{"data":{"state":"1"}}`)
	keys("cluster", "maxmemory")
}
