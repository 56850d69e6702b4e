package topology

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestTheEditorIsWhoChangedTheTopologyLast(t *testing.T) {
	at := func(minutes int) *metav1.Time {
		return &metav1.Time{Time: time.Date(2026, time.March, 1, 12, minutes, 0, 0, time.UTC)}
	}
	entry := func(manager, fields string, time *metav1.Time) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{
			Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, Time: time, FieldsV1: metav1.NewFieldsV1(fields),
		}
	}
	const version, endpoint = `{"f:spec":{"f:topology":{"f:version":{}}}}`, `{"f:spec":{"f:controlPlaneEndpoint":{}}}`
	status := entry("status", version, at(9))
	status.Subresource = "status"
	for name, test := range map[string]struct {
		entries []metav1.ManagedFieldsEntry
		want    string
	}{
		"nobody":         {nil, ""},
		"ourselves":      {[]metav1.ManagedFieldsEntry{entry("daytwo", version, at(1))}, ""},
		"somebody":       {[]metav1.ManagedFieldsEntry{entry("daytwo", version, at(1)), entry("kubectl-edit", version, at(1))}, "kubectl-edit (Update, 2026-03-01T12:01:00Z)"},
		"before us":      {[]metav1.ManagedFieldsEntry{entry("daytwo", version, at(5)), entry("restore", version, at(1))}, ""},
		"the last":       {[]metav1.ManagedFieldsEntry{entry("a", version, at(1)), entry("b", version, at(3)), entry("c", version, at(2))}, "b (Update, 2026-03-01T12:03:00Z)"},
		"something else": {[]metav1.ManagedFieldsEntry{entry("capi", endpoint, at(1)), status, entry("no time", version, nil)}, ""},
	} {
		if got := Editor(&metav1.ObjectMeta{ManagedFields: test.entries}, "daytwo"); got != test.want {
			t.Errorf("%s: got %q", name, got)
		}
	}
}
