package managedfields

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

var known = NewRules(NewControllers("daytwo", DefaultControllers()...), DefaultTools(), DefaultCatalog())

// fingerprint takes every addition back.
func fingerprint(object metav1.Object) string { return known.Assess(object, Subject{}).Fingerprint }

var applied = metav1.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)

// What Daytwo applied of a Deployment.
const ownFields = `{"f:metadata":{"f:labels":{"f:daytwo.dev/managed-by":{}}},"f:spec":{"f:replicas":{},"f:selector":{},` +
	`"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:image":{},"f:name":{}}}}}}}`

func entry(manager string, operation metav1.ManagedFieldsOperationType, subresource, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: operation, APIVersion: "apps/v1", Time: &applied, Subresource: subresource,
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields),
	}
}

func ours() metav1.ManagedFieldsEntry {
	return entry("daytwo", metav1.ManagedFieldsOperationApply, "", ownFields)
}

func edited(fields string) metav1.ManagedFieldsEntry {
	return entry("kubectl-edit", metav1.ManagedFieldsOperationUpdate, "", fields)
}

const sidecarFields = `{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"sidecar\"}":{".":{},"f:image":{},"f:name":{}}}}}}}`

func statusEntry() metav1.ManagedFieldsEntry {
	return entry("kube-controller-manager", metav1.ManagedFieldsOperationUpdate, "status", `{"f:status":{"f:replicas":{}}}`)
}

func object(entries ...metav1.ManagedFieldsEntry) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "7", ManagedFields: entries}}
}

func TestFingerprintIsNotChangedByWhatControllersDo(t *testing.T) {
	want := fingerprint(object(ours(), edited(`{"f:data":{}}`)))
	for name, same := range map[string]*metav1.PartialObjectMetadata{
		"status":           object(ours(), edited(`{"f:data":{}}`), statusEntry()),
		"scale":            object(ours(), edited(`{"f:data":{}}`), entry("kubectl", "Update", "scale", `{"f:spec":{"f:replicas":{}}}`)),
		"known controller": object(ours(), edited(`{"f:data":{}}`), entry("kube-controller-manager", "Update", "", `{"f:spec":{"f:volumeName":{}}}`)),
		"order":            object(edited(`{"f:data":{}}`), ours()),
		"order of keys":    object(reordered(ours()), edited(`{"f:data":{}}`)),
		"resourceVersion":  withMeta(object(ours(), edited(`{"f:data":{}}`)), func(m *metav1.ObjectMeta) { m.ResourceVersion, m.Generation = "9", 4 }),
		"annotation value": withMeta(object(ours(), edited(`{"f:data":{}}`)), func(m *metav1.ObjectMeta) { m.Annotations = map[string]string{"a": "b"} }),
	} {
		if got := fingerprint(same); got != want {
			t.Errorf("%s: the fingerprint changed", name)
		}
	}
}

func reordered(e metav1.ManagedFieldsEntry) metav1.ManagedFieldsEntry {
	e.FieldsV1 = metav1.NewFieldsV1(`{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{"f:name":{},"f:image":{},".":{}}}}},` +
		`"f:selector":{},"f:replicas":{}},"f:metadata":{"f:labels":{"f:daytwo.dev/managed-by":{}}}}`)
	return e
}

func withMeta(o *metav1.PartialObjectMetadata, change func(*metav1.ObjectMeta)) *metav1.PartialObjectMetadata {
	change(&o.ObjectMeta)
	return o
}

func TestFingerprintIsChangedByEverythingElse(t *testing.T) {
	base := func() *metav1.PartialObjectMetadata { return object(ours()) }
	later := metav1.NewTime(applied.Add(time.Second))
	shrunk, touched := ours(), ours()
	shrunk.FieldsV1 = metav1.NewFieldsV1(strings.Replace(ownFields, `"f:replicas":{},`, "", 1))
	touched.Time = &later
	seen := map[string]string{fingerprint(base()): "as applied"}
	for name, changed := range map[string]*metav1.PartialObjectMetadata{
		"edit":                 object(ours(), edited(sidecarFields)),
		"another edit":         object(ours(), edited(`{"f:spec":{"f:paused":{}}}`)),
		"our entry shrank":     object(shrunk),
		"our entry is newer":   object(touched),
		"our entry is gone":    object(),
		"update in our name":   object(ours(), entry("daytwo", "Update", "", `{"f:spec":{"f:replicas":{}}}`)),
		"somebody's apply":     object(ours(), entry("kubectl", "Apply", "", `{"f:spec":{"f:replicas":{}}}`)),
		"another manager":      object(ours(), entry("helm", "Apply", "", `{"f:spec":{"f:replicas":{}}}`)),
		"wiped managedFields":  object(entry("before-first-apply", "Update", "", ownFields)),
		"another object":       withMeta(base(), func(m *metav1.ObjectMeta) { m.UID = "8" }),
		"waits to be deleted":  withMeta(base(), func(m *metav1.ObjectMeta) { m.DeletionTimestamp = &applied }),
		"unreadable fields":    object(ours(), edited(`{"f:`)),
		"same fields, else's":  object(ours(), entry("kubectl-patch", "Update", "", sidecarFields)),
		"another API version":  object(func() metav1.ManagedFieldsEntry { e := ours(); e.APIVersion = "apps/v1beta1"; return e }()),
		"without any of those": object(statusEntry()),
	} {
		is := fingerprint(changed)
		if name == "without any of those" {
			if is != fingerprint(object()) {
				t.Error("status alone counts")
			}
			continue
		}
		if other, ok := seen[is]; ok {
			t.Errorf("%s has the same fingerprint as %s", name, other)
		}
		seen[is] = name
	}
}

func TestForeignLeavesOutOursAndControllers(t *testing.T) {
	foreign := known.Foreign(object(
		ours(), statusEntry(), edited(sidecarFields),
		entry("kube-scheduler", "Update", "", `{}`), entry("daytwo", "Update", "", `{}`),
	), Subject{})
	var names []string
	for _, e := range foreign {
		names = append(names, e.Manager+"/"+string(e.Operation))
	}
	if want := []string{"kubectl-edit/Update", "daytwo/Update"}; !slices.Equal(names, want) {
		t.Errorf("got %v, want %v", names, want)
	}
}

func TestAnEntryOfIgnoredFieldsIsNotForeign(t *testing.T) {
	changed := object(ours(), edited(`{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{"f:image":{}}}}}}}`))
	ignoring := func(pointer string) Subject { return Subject{Tolerance: Tolerance{Ignored: Ignored{pointer}}} }
	if foreign := known.Foreign(changed, ignoring("/spec/template/spec/containers/0/image")); len(foreign) != 0 {
		t.Errorf("got %v", foreign)
	}
	if foreign := known.Foreign(changed, ignoring("/spec/replicas")); len(foreign) != 1 {
		t.Errorf("got %v", foreign)
	}
}

func TestIntrudes(t *testing.T) {
	desired := map[string]any{"spec": map[string]any{
		"replicas": int64(2),
		"template": map[string]any{"spec": map[string]any{"containers": []any{
			map[string]any{"name": "web", "image": "web:1", "ports": []any{map[string]any{"containerPort": int64(80), "protocol": "TCP"}}},
		}}},
	}, "metadata": map[string]any{"finalizers": []any{"ours/a"}}}
	for name, c := range map[string]struct {
		fields string
		want   bool
	}{
		"changed value":      {`{"f:spec":{"f:replicas":{}}}`, false},
		"changed image":      {`{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{"f:image":{}}}}}}}`, false},
		"declared list item": {`{"f:metadata":{"f:finalizers":{"v:\"ours/a\"":{}}}}`, false},
		"declared port":      {`{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{"f:ports":{"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{"f:containerPort":{}}}}}}}}}`, false},
		"added container":    {sidecarFields, true},
		"added field":        {`{"f:spec":{"f:paused":{}}}`, true},
		"added port":         {`{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{"f:ports":{"k:{\"containerPort\":81,\"protocol\":\"TCP\"}":{"f:containerPort":{}}}}}}}}}`, true},
		"added finalizer":    {`{"f:metadata":{"f:finalizers":{"v:\"theirs/a\"":{}}}}`, true},
		"unreadable":         {`{"f:`, true},
	} {
		if got := Intrudes(known.Foreign(object(edited(c.fields)), Subject{}), desired); got != c.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
	if Intrudes(nil, desired) {
		t.Error("nobody intrudes")
	}
}

func TestOwnsPointer(t *testing.T) {
	e := edited(`{"f:spec":{"f:replicas":{},"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{"f:image":{}}}}}},` +
		`"f:metadata":{"f:annotations":{"f:example.com/a~b":{}}}}`)
	fields, err := Fields(&e)
	if err != nil {
		t.Fatal(err)
	}
	for pointer, want := range map[string]bool{
		"/spec/replicas":                          true,
		"/spec":                                   true,
		"/spec/template/spec/containers/0/image":  true,
		"/spec/template/spec/containers/0/env":    false,
		"/spec/paused":                            false,
		"/metadata/annotations/example.com~1a~0b": true,
		"/metadata/labels":                        false,
	} {
		if got := OwnsPointer(fields, pointer); got != want {
			t.Errorf("%s: got %t", pointer, got)
		}
	}
}

func TestScaler(t *testing.T) {
	scale := `{"f:spec":{"f:replicas":{}}}`
	for name, c := range map[string]struct {
		entries      []metav1.ManagedFieldsEntry
		manager      string
		byController bool
	}{
		"nobody":       {[]metav1.ManagedFieldsEntry{ours(), statusEntry()}, "", false},
		"autoscaler":   {[]metav1.ManagedFieldsEntry{ours(), entry("kube-controller-manager", "Update", "scale", scale)}, "kube-controller-manager", true},
		"person":       {[]metav1.ManagedFieldsEntry{ours(), entry("kubectl", "Update", "scale", scale)}, "kubectl", false},
		"other fields": {[]metav1.ManagedFieldsEntry{entry("kubectl", "Update", "scale", `{"f:metadata":{}}`)}, "", false},
	} {
		found, byController := known.Scaler(c.entries)
		manager := ""
		if found != nil {
			manager = found.Manager
		}
		if manager != c.manager || byController != c.byController {
			t.Errorf("%s: got %q, %t", name, manager, byController)
		}
	}
}

func TestNamesTellsTenFieldsAndCountsTheRest(t *testing.T) {
	fields := fieldpath.NewSet()
	for _, name := range strings.Split("a b c d e f g h i j k l", " ") {
		fields.Insert(fieldpath.MakePathOrDie("data", name))
	}
	names := Names(fields)
	if len(names) != 11 || names[0] != ".data.a" || names[10] != "and 2 more" {
		t.Errorf("got %v", names)
	}
}

func TestOwnFieldsOfAnObjectThatIsNotOurs(t *testing.T) {
	fields, err := known.OwnFields([]metav1.ManagedFieldsEntry{edited(sidecarFields)})
	if err != nil || !fields.Empty() {
		t.Errorf("got %v, %v", fields, err)
	}
	if known.IsOurs(&metav1.ManagedFieldsEntry{Manager: ManagerOf("another"), Operation: metav1.ManagedFieldsOperationApply}) {
		t.Error("another installation's entry counts as ours")
	}
}

func TestEachInstallationHasAManagerOfItsOwn(t *testing.T) {
	one, other := ManagerOf("one"), ManagerOf("other")
	if one == other || !strings.HasPrefix(one, metav1alpha1.FieldManager+"-") || one != ManagerOf("one") {
		t.Errorf("got %s and %s", one, other)
	}
}
