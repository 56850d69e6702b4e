package fleet

import (
	"encoding/json"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/bounded"
)

// veleroBackup is a Backup as Velero 1.18 leaves it.
const veleroBackup = `{"apiVersion":"velero.io/v1","kind":"Backup","metadata":{"annotations":{"velero.io/resource-timeout":"10m0s",
"velero.io/source-cluster-k8s-gitversion":"v1.36.3","velero.io/source-cluster-k8s-major-version":"1","velero.io/source-cluster-k8s-minor-version":"36"},
"creationTimestamp":"2026-11-23T18:18:53Z","generation":6,"labels":{"daytwo.dev/backup":"nightly-f1d95e81","velero.io/schedule-name":"nightly-f1d95e81",
"velero.io/storage-location":"nightly-f1d95e81"},"managedFields":[{"apiVersion":"velero.io/v1","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{
"f:annotations":{".":{},"f:velero.io/resource-timeout":{},"f:velero.io/source-cluster-k8s-gitversion":{}},"f:labels":{".":{},"f:velero.io/schedule-name":{}}},
"f:spec":{".":{},"f:csiSnapshotTimeout":{},"f:excludedNamespaces":{},"f:hooks":{},"f:itemOperationTimeout":{},"f:metadata":{".":{},"f:labels":{}},
"f:snapshotMoveData":{},"f:storageLocation":{},"f:ttl":{}},"f:status":{".":{},"f:completionTimestamp":{},"f:expiration":{},"f:formatVersion":{},
"f:hookStatus":{},"f:phase":{},"f:progress":{".":{},"f:itemsBackedUp":{},"f:totalItems":{}},"f:startTimestamp":{},"f:version":{}}},
"manager":"velero-server","operation":"Update","time":"2026-11-23T18:18:56Z"}],"name":"nightly-f1d95e81-20261123181853","namespace":"velero",
"resourceVersion":"4711","uid":"2b7d7a43-4e0f-4a3a-9c57-3f5e1d0c9b8a"},"spec":{"csiSnapshotTimeout":"10m0s","defaultVolumesToFsBackup":false,
"excludedNamespaces":["scratch","velero"],"hooks":{},"itemOperationTimeout":"4h0m0s","metadata":{"labels":{"daytwo.dev/backup":"nightly-f1d95e81"}},
"snapshotMoveData":false,"storageLocation":"nightly-f1d95e81","ttl":"720h0m0s","volumeGroupSnapshotLabelKey":"velero.io/volume-group"},
"status":{"completionTimestamp":"2026-11-23T18:18:54Z","expiration":"2026-12-23T18:18:53Z","formatVersion":"1.1.0","hookStatus":{},"phase":"Completed",
"progress":{"itemsBackedUp":412,"totalItems":412},"startTimestamp":"2026-11-23T18:18:53Z","version":1}}`

func TestFourHundredBackupsAreKept(t *testing.T) {
	kept := newSelected(Selection{Limit: bounded.MaxListed, Omit: "spec"})
	for i := range 420 {
		content := &unstructured.Unstructured{}
		if err := json.Unmarshal([]byte(veleroBackup), &content.Object); err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("%s-%03d", content.GetName(), i)
		content.SetName(name)
		kept.put(&bounded.WholeObject{
			PartialObjectMetadata: &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: name}}, Content: content,
		})
	}
	if kept.incomplete || len(kept.objects) != 420 {
		t.Errorf("%d are kept, of %d bytes and %d values", len(kept.objects), kept.size.Bytes, kept.size.Values)
	}
	for _, one := range kept.objects {
		if one.content.Object["spec"] != nil || one.content.GetManagedFields() != nil || one.content.Object["status"] == nil {
			t.Fatalf("it is kept as %v", one.content.Object)
		}
	}
}
