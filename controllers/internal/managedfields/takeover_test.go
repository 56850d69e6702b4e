package managedfields

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// takeOver applies the takeover's patch to an object, as an API server would.
func takeOver(t *testing.T, of *metav1.PartialObjectMetadata, to runtime.Object, ignored ...string) (*metav1.PartialObjectMetadata, error) {
	t.Helper()
	return takeOverAs(t, of, to, Subject{Tolerance: Tolerance{Ignored: ignored}})
}

func takeOverAs(t *testing.T, of *metav1.PartialObjectMetadata, to runtime.Object, subject Subject) (*metav1.PartialObjectMetadata, error) {
	t.Helper()
	patch, err := known.Takeover(of, subject)
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		t.Fatal(err)
	}
	document, err := json.Marshal(to)
	if err != nil {
		t.Fatal(err)
	}
	patched, err := decoded.Apply(document)
	if err != nil {
		return nil, err
	}
	result := &metav1.PartialObjectMetadata{}
	if err := json.Unmarshal(patched, result); err != nil {
		t.Fatal(err)
	}
	return result, nil
}

func TestTakeoverMovesWhatOthersOwn(t *testing.T) {
	wiped := entry("before-first-apply", metav1.ManagedFieldsOperationUpdate, "", ownFields)
	for name, c := range map[string]struct {
		entries []metav1.ManagedFieldsEntry
		// owns are fields that Daytwo's entry must have afterwards.
		owns []string
		left int
	}{
		"added container":     {[]metav1.ManagedFieldsEntry{ours(), statusEntry(), edited(sidecarFields)}, []string{"sidecar", "web", "f:replicas"}, 2},
		"two people":          {[]metav1.ManagedFieldsEntry{edited(sidecarFields), ours(), entry("helm", "Apply", "", `{"f:spec":{"f:paused":{}}}`)}, []string{"sidecar", "f:paused", "web"}, 1},
		"wiped managedFields": {[]metav1.ManagedFieldsEntry{wiped, edited(sidecarFields)}, []string{"sidecar", "web"}, 1},
		"update in our name":  {[]metav1.ManagedFieldsEntry{ours(), entry("daytwo", "Update", "", `{"f:spec":{"f:paused":{}}}`)}, []string{"f:paused", "web"}, 1},
		"controllers stay":    {[]metav1.ManagedFieldsEntry{entry("kube-controller-manager", "Update", "", `{"f:spec":{"f:volumeName":{}}}`), ours(), edited(sidecarFields)}, []string{"sidecar"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			before := object(c.entries...)
			after, err := takeOver(t, before, before)
			if err != nil {
				t.Fatal(err)
			}
			if len(after.ManagedFields) != c.left {
				t.Errorf("%d entries are left, want %d", len(after.ManagedFields), c.left)
			}
			if foreign := known.Foreign(after, Subject{}); len(foreign) != 0 {
				t.Errorf("foreign entries are left: %v", foreign)
			}
			own := known.Ours(after.ManagedFields)
			if own < 0 {
				t.Fatal("Daytwo has no entry")
			}
			for _, field := range c.owns {
				if !strings.Contains(after.ManagedFields[own].FieldsV1.GetRawString(), field) {
					t.Errorf("%s is not Daytwo's: %s", field, after.ManagedFields[own].FieldsV1.GetRawString())
				}
			}
			if patch, err := known.Takeover(after, Subject{}); patch != nil || err != nil {
				t.Errorf("a second takeover does something: %s, %v", patch, err)
			}
		})
	}
}

func TestTakeoverFailsWhenTheSamePeopleChangeSomethingMeanwhile(t *testing.T) {
	before := object(ours(), statusEntry(), edited(sidecarFields))
	meanwhile := object(ours(), statusEntry(), edited(`{"f:spec":{"f:paused":{}}}`))
	if _, err := takeOver(t, before, meanwhile); err == nil {
		t.Error("the patch went through: what they added is left without an owner")
	}
}

func TestTakeoverIsNotDisturbedByStatusUpdates(t *testing.T) {
	before := object(ours(), statusEntry(), edited(sidecarFields))
	meanwhile := before.DeepCopy()
	meanwhile.ManagedFields[1].FieldsV1 = metav1.NewFieldsV1(`{"f:status":{"f:readyReplicas":{}}}`)
	if _, err := takeOver(t, before, meanwhile); err != nil {
		t.Errorf("a status update fails the patch: %v", err)
	}
}

func TestTakeoverRemovesAddedFinalizersAndOwners(t *testing.T) {
	before := object(ours(), edited(`{"f:metadata":{"f:finalizers":{".":{},"v:\"theirs/a\"":{},"v:\"theirs/b\"":{}},`+
		`"f:ownerReferences":{".":{},"k:{\"uid\":\"13\"}":{}}}}`))
	before.Finalizers = []string{"theirs/a", "kept/x", "theirs/b"}
	before.OwnerReferences = []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "ConfigMap", Name: "kept", UID: "12"}, {APIVersion: "v1", Kind: "ConfigMap", Name: "theirs", UID: "13"},
	}
	after, err := takeOver(t, before, before)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(after.Finalizers, []string{"kept/x"}) {
		t.Errorf("finalizers are %v", after.Finalizers)
	}
	if len(after.OwnerReferences) != 1 || after.OwnerReferences[0].UID != "12" {
		t.Errorf("ownerReferences are %v", after.OwnerReferences)
	}
}

func TestTakeoverLeavesIgnoredFieldsToTheirOwners(t *testing.T) {
	before := object(ours(), edited(`{"f:spec":{"f:paused":{},"f:minReadySeconds":{}}}`))
	after, err := takeOver(t, before, before, "/spec/paused")
	if err != nil {
		t.Fatal(err)
	}
	own := known.Ours(after.ManagedFields)
	if own < 0 || len(after.ManagedFields) != 2 {
		t.Fatalf("got the entries %v", after.ManagedFields)
	}
	if raw := after.ManagedFields[own].FieldsV1.GetRawString(); !strings.Contains(raw, "f:minReadySeconds") || strings.Contains(raw, "f:paused") {
		t.Errorf("Daytwo owns %s", raw)
	}
	if raw := after.ManagedFields[1-own].FieldsV1.GetRawString(); !strings.Contains(raw, "f:paused") || strings.Contains(raw, "f:minReadySeconds") {
		t.Errorf("they own %s", raw)
	}
}

func TestNothingToTakeOver(t *testing.T) {
	if patch, err := known.Takeover(object(ours(), statusEntry()), Subject{}); patch != nil || err != nil {
		t.Errorf("got %s, %v", patch, err)
	}
}
