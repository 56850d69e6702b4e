package floor

import (
	"encoding/json"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func entry(manager string, operation metav1.ManagedFieldsOperationType, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{Manager: manager, Operation: operation, FieldsV1: metav1.NewFieldsV1(fields)}
}

func TestTakeoverTestsBothEntriesAndMergesThem(t *testing.T) {
	patch, err := takeover([]metav1.ManagedFieldsEntry{
		entry(Manager, metav1.ManagedFieldsOperationApply, `{"f:data":{"f:value":{}}}`),
		entry("somebody", metav1.ManagedFieldsOperationUpdate, `{"f:data":{"f:extra":{}}}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	var operations []struct {
		Op, Path string
		Value    *metav1.ManagedFieldsEntry
	}
	if err := json.Unmarshal(patch, &operations); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"test /metadata/managedFields/0", "test /metadata/managedFields/1",
		"replace /metadata/managedFields/0", "remove /metadata/managedFields/1",
	}
	if len(operations) != len(want) {
		t.Fatalf("%d operations, want %d: %s", len(operations), len(want), patch)
	}
	for i, operation := range operations {
		if got := operation.Op + " " + operation.Path; got != want[i] {
			t.Errorf("operation %d is %q, want %q", i, got, want[i])
		}
	}
	if got, want := operations[2].Value.FieldsV1.GetRawString(), `{"f:data":{"f:extra":{},"f:value":{}}}`; got != want {
		t.Errorf("our fields become %s, want %s", got, want)
	}
}

func TestTakeoverNeedsSomebodyElse(t *testing.T) {
	if _, err := takeover([]metav1.ManagedFieldsEntry{entry(Manager, metav1.ManagedFieldsOperationApply, `{}`)}); err == nil {
		t.Error("there was nobody to take anything from, and no error")
	}
}
