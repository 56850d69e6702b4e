package fleet

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
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
			if !equality.Semantic.DeepEqual(excerpt(whole), whole) {
				t.Error("small metadata are not kept as they are")
			}
			enlarge(&whole.ObjectMeta)
			kept := excerpt(whole)
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

func TestIdentifiersThatNoAPIServerSendsAreRefused(t *testing.T) {
	long := strings.Repeat("9", maxIdentifier+1)
	for name, metadata := range map[string]string{
		"a long uid":              fmt.Sprintf(`{"namespace":"default","name":"one","uid":%q,"resourceVersion":"1"}`, long),
		"a long resource version": fmt.Sprintf(`{"namespace":"default","name":"one","uid":"1","resourceVersion":%q}`, long),
	} {
		t.Run(name, func(t *testing.T) {
			_, cluster := widgets(t, func(w http.ResponseWriter, request *http.Request) {
				if strings.HasSuffix(request.URL.Path, "/one") {
					_, _ = io.WriteString(w, `{"apiVersion":"hostile.example/v1","kind":"Widget","metadata":`+metadata+`}`)
					return
				}
				_, _ = io.WriteString(w, `{"metadata":{"resourceVersion":"7"},"items":[{"metadata":`+metadata+`}]}`)
			})
			resource, err := cluster.Resource(t.Context(), widget.GroupVersionKind)
			if err != nil {
				t.Fatal(err)
			}
			for what, ask := range map[string]func() error{
				"an answer to a write": func() error { _, err := cluster.Apply(t.Context(), widget, "", []byte(`{}`), true); return err },
				"an answer to a read":  func() error { _, err := cluster.Get(t.Context(), widget); return err },
				"a list": func() error {
					_, err := cluster.sourceFor(resource).each(t.Context(), "", nil, nil)
					return err
				},
			} {
				if err := ask(); err == nil || !strings.Contains(err.Error(), "no more than 128 are expected") {
					t.Errorf("%s is taken: %.300v", what, err)
				}
			}
		})
	}
}

func TestWhatIsSeenOfALargeObjectIsSmall(t *testing.T) {
	long := strings.Repeat("x", mebi/2)
	r, cluster := widgets(t, func(w http.ResponseWriter, request *http.Request) {
		if request.URL.Query().Has("watch") {
			<-request.Context().Done()
			return
		}
		fmt.Fprintf(w, `{"metadata":{"resourceVersion":"7"},"items":[{"apiVersion":"hostile.example/v1","kind":"Widget","metadata":{"namespace":"default","name":"one","uid":"1",`+
			`"resourceVersion":"5","generation":2,"annotations":{"a":%q},"managedFields":[{"manager":%[1]q,"operation":"Update","fieldsType":"FieldsV1","fieldsV1":{"f:status":{}}}]},`+
			`"status":{"conditions":[{"type":"Reconciling","status":"True","message":%[1]q}]}}]}`, long)
	})
	key := objects.Key{GroupKind: widget.GroupKind(), Namespace: widget.Namespace, Name: widget.Name}
	cluster.Tracker.Claim(release, key)
	cluster.Tracker.Expect(key, Expectation{UID: "1", Fingerprint: "another"})
	watchedWidget(t, cluster)
	var seen *Seen
	r.eventually("the widget is seen", func() bool {
		seen, _ = cluster.Tracker.Look(key)
		return seen != nil
	})
	kept := sizeOf(seen.Object) + len(seen.Health.Message) + len(strings.Join(seen.Tolerated, ""))
	if seen.Object == nil || kept > maxKept {
		t.Errorf("%d bytes of it are kept: %.300v", kept, seen)
	}
}
