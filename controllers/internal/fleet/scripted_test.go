package fleet

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/transport"
	"github.com/daytwo-dev/daytwo/controllers/internal/kubeconfig"
)

// scripted is an API server with ConfigMaps and Secrets that answers requests for ConfigMaps as a test says.
type scripted struct {
	*httptest.Server

	mu sync.Mutex
	// list and watch answer requests for ConfigMaps; nil answers like an API server in which nothing happens.
	list, watch http.HandlerFunc
	// lists and watches count them.
	lists, watches int
}

func newScripted(t *testing.T, list, watch http.HandlerFunc) *scripted {
	t.Helper()
	s := &scripted{list: list, watch: watch}
	s.Server = httptest.NewUnstartedServer(s)
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

func (s *scripted) access() kubeconfig.Access {
	return kubeconfig.Access{
		Server: s.URL, Token: token, CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}),
	}
}

// answer changes the script.
func (s *scripted) answer(list, watch http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list, s.watch = list, watch
}

// requests returns how often ConfigMaps were listed, and how often watched.
func (s *scripted) requests() (lists, watches int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lists, s.watches
}

func (s *scripted) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch request.URL.Path {
	case transport.IdentityPath:
		_, _ = w.Write([]byte(`{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system","uid":"scripted"}}`))
	case "/version":
		_, _ = w.Write([]byte(`{"gitVersion":"v1.36.3"}`))
	case "/api/v1":
		_, _ = w.Write([]byte(`{"kind":"APIResourceList","groupVersion":"v1","resources":[
			{"name":"configmaps","namespaced":true,"kind":"ConfigMap","verbs":["list","watch"]},
			{"name":"secrets","namespaced":true,"kind":"Secret","verbs":["list","watch"]}]}`))
	case "/api/v1/configmaps", "/api/v1/namespaces/default/configmaps":
		s.script(request)(w, request)
	case "/api/v1/secrets":
		if request.URL.Query().Get("watch") != "" {
			quiet(w, request)
			return
		}
		listOf("1")(w, request)
	default:
		http.NotFound(w, request)
	}
}

func (s *scripted) script(request *http.Request) http.HandlerFunc {
	s.mu.Lock()
	defer s.mu.Unlock()
	if request.URL.Query().Get("watch") != "" {
		s.watches++
		if s.watch != nil {
			return s.watch
		}
		return quiet
	}
	s.lists++
	if s.list != nil {
		return s.list
	}
	return listOf("1")
}

// quiet is a watch in which nothing happens.
func quiet(w http.ResponseWriter, request *http.Request) {
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	<-request.Context().Done()
}

// stream is a watch that shows events and then stays open.
func stream(events ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, request *http.Request) {
		for _, event := range events {
			_, _ = fmt.Fprintln(w, event)
		}
		quiet(w, request)
	}
}

// closing is a watch that shows events and ends.
func closing(events ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for _, event := range events {
			_, _ = fmt.Fprintln(w, event)
		}
	}
}

// refuse answers with an API server's error.
func refuse(code int, message string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":%q,"code":%d}`, message, code)
	}
}

// listOf answers with ConfigMaps at a version.
func listOf(version string, items ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		list := map[string]any{
			"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": map[string]any{"resourceVersion": version},
		}
		raw := make([]json.RawMessage, 0, len(items))
		for _, item := range items {
			raw = append(raw, json.RawMessage(item))
		}
		list["items"] = raw
		_ = json.NewEncoder(w).Encode(list) // The client may be gone.
	}
}

// settingsAt is the ConfigMap cache/settings at a version.
func settingsAt(version string) string {
	return fmt.Sprintf(`{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"namespace":"cache","name":"settings","uid":"1",`+
		`"resourceVersion":%q,"labels":{%q:%q}}}`, version, metav1alpha1.LabelManagedBy, installation)
}

func event(kind, object string) string { return fmt.Sprintf(`{"type":%q,"object":%s}`, kind, object) }

func failure(code int, reason string) string {
	return event("ERROR", fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no","reason":%q,"code":%d}`, reason, code))
}
