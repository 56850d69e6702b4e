package fleet

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

func TestAnObjectIsCreatedOnce(t *testing.T) {
	r := newRig(t, timeouts())
	cluster := r.connected(shared.access(hostOf(t, shared.first)))
	ref := objects.Ref{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Namespace: "default", Name: "created-once"}
	body := func(more string) []byte {
		return fmt.Appendf(nil, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"namespace":"default"}%s}`, ref.Name, more)
	}
	if _, err := cluster.Create(t.Context(), ref, body(`,"dataa":{}`)); !apierrors.IsBadRequest(err) {
		t.Errorf("an unknown field: %v", err)
	}
	created, err := cluster.Create(t.Context(), ref, body(`,"data":{"a":"a"}`))
	if err != nil {
		t.Fatal(err)
	}
	stored, err := r.admin.CoreV1().ConfigMaps("default").Get(t.Context(), ref.Name, metav1.GetOptions{})
	if err != nil || stored.UID != created.UID || len(stored.ManagedFields) != 1 || stored.ManagedFields[0].Manager != cluster.connection.fleet.options.Rules.Self() {
		t.Errorf("%v: %+v was created, and is told as %+v", err, stored, created)
	}
	if _, err := cluster.Create(t.Context(), ref, body(`,"data":{"a":"b"}`)); !apierrors.IsAlreadyExists(err) {
		t.Errorf("the second one: %v", err)
	}
}

func TestAnAnswerToACreateIsNotBelievedForAnotherObject(t *testing.T) {
	server := newScripted(t, listOf("1"), quiet)
	r := newRig(t, timeouts())
	cluster := r.connected(server.access())
	ref := objects.Ref{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Namespace: "default", Name: "mine"}
	server.answer(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"theirs","namespace":"default","uid":"u","resourceVersion":"1"}}`)
	}, quiet)
	if created, err := cluster.Create(t.Context(), ref, []byte(`{}`)); err == nil || !strings.Contains(err.Error(), "the answer is not that object") {
		t.Errorf("%+v, %v", created, err)
	}
}
