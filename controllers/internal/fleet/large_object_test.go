package fleet

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

func TestIdentifiersThatNoAPIServerSendsAreRefused(t *testing.T) {
	long := strings.Repeat("9", 64+1)
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
					_, err := cluster.sourceFor(resource).each(t.Context(), "", "", nil, nil)
					return err
				},
			} {
				if err := ask(); err == nil || !strings.Contains(err.Error(), "no more than 64 are expected") {
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
	cluster.Tracker.Keep(release, key, tracker.Expectation{UID: "1", Fingerprint: "another"})
	watchedWidget(t, cluster)
	var seen *tracker.Seen
	r.eventually("the widget is seen", func() bool {
		seen, _ = cluster.Tracker.Look(key)
		return seen != nil
	})
	object, err := json.Marshal(seen.Object)
	if kept := len(object) + len(seen.Health.Message) + len(strings.Join(seen.Tolerated, "")); err != nil || seen.Object == nil || kept > 8<<10 {
		t.Errorf("%d bytes of it are kept: %.300v, %v", kept, seen, err)
	}
}
