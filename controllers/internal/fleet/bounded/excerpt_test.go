package bounded

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestOfLargeMetadataAPartIsKept(t *testing.T) {
	now := metav1.Now()
	small := metav1.ObjectMeta{
		Namespace: "default", Name: "one", UID: "uid", ResourceVersion: "7", DeletionTimestamp: &now, Finalizers: []string{"example.com/wait"},
		Labels:        map[string]string{"app.kubernetes.io/managed-by": "Helm"},
		Annotations:   map[string]string{"meta.helm.sh/release-name": "web"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl-edit", FieldsV1: metav1.NewFieldsV1(`{"f:data":{}}`)}},
	}
	for name, enlarge := range map[string]func(*metav1.ObjectMeta){
		"a long annotation": func(m *metav1.ObjectMeta) { m.Annotations["ballast"] = strings.Repeat("x", maxKept) },
		"many annotations": func(m *metav1.ObjectMeta) {
			for i := range maxKept {
				m.Annotations[fmt.Sprint(i)] = ""
			}
		},
		"many labels": func(m *metav1.ObjectMeta) {
			for i := range maxKept {
				m.Labels[fmt.Sprint(i)] = ""
			}
		},
		"many owners": func(m *metav1.ObjectMeta) {
			m.OwnerReferences = make([]metav1.OwnerReference, 500)
			for i := range m.OwnerReferences {
				m.OwnerReferences[i].Name = strings.Repeat("x", maxKeptValue)
			}
		},
		"long finalizers": func(m *metav1.ObjectMeta) { m.Finalizers = append(m.Finalizers, strings.Repeat("x", maxKept)) },
		"many fields": func(m *metav1.ObjectMeta) {
			m.ManagedFields[0].FieldsV1 = metav1.NewFieldsV1(`{"f:data":{"` + strings.Repeat("x", maxKept) + `":{}}}`)
		},
		"a long name of a manager": func(m *metav1.ObjectMeta) { m.ManagedFields[0].Manager = strings.Repeat("x", maxKept) },
	} {
		t.Run(name, func(t *testing.T) {
			whole := &metav1.PartialObjectMetadata{ObjectMeta: *small.DeepCopy()}
			if !equality.Semantic.DeepEqual(Excerpt(whole), whole) {
				t.Error("small metadata are not kept as they are")
			}
			enlarge(&whole.ObjectMeta)
			kept := Excerpt(whole)
			if size := sizeOf(kept); size > maxKept || len(kept.ManagedFields) > 0 {
				t.Errorf("%d bytes are kept", size)
			}
			if kept.Name != "one" || kept.UID != "uid" || kept.DeletionTimestamp == nil || kept.Finalizers[0] != "example.com/wait" {
				t.Errorf("what is kept lacks something: %.500v", kept)
			}
			if sizeOf(whole) <= maxKept {
				t.Error("the object itself was changed")
			}
		})
	}
}
