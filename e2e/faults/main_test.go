package faults

import (
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
)

const configMaps = "/api/v1/namespaces/default/configmaps"

// server plays an API server: it counts what reaches it, and says its name and how often it was asked.
type server struct {
	*httptest.Server
	name string
	// events are sent to each watch, which then ends. Without any it ends with its client.
	events []string
	// content is answered in the place of that, if it is not empty.
	content string

	mu   sync.Mutex
	seen []string
}

func startServer(t *testing.T, name string, events ...string) *server {
	t.Helper()
	s := &server{name: name, events: events}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // What did not arrive is not counted.
	s.mu.Lock()
	s.seen = append(s.seen, r.Method+" "+string(body))
	count := len(s.seen)
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if s.content != "" {
		fmt.Fprint(w, s.content)
		return
	}
	if r.URL.Query().Has("watch") {
		for _, event := range s.events {
			fmt.Fprintln(w, event)
		}
		_ = http.NewResponseController(w).Flush() // The client may have gone.
		if len(s.events) == 0 {
			<-r.Context().Done()
		}
		return
	}
	fmt.Fprintf(w, `{"server":%q,"count":%d,"credentials":%q}`, s.name, count, r.Header.Get("Authorization"))
}

func (s *server) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.seen...)
}

func (s *server) config() *rest.Config {
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	return &rest.Config{Host: s.URL, BearerToken: "of the proxy", TLSClientConfig: rest.TLSClientConfig{CAData: authority}}
}

// env is a proxy before a server, and a client of it.
type env struct {
	*testing.T
	server *server
	proxy  *Proxy
	client *http.Client
}

func newEnv(t *testing.T, events ...string) *env {
	t.Helper()
	e := &env{T: t, server: startServer(t, "first", events...)}
	e.proxy = Start(t, e.server.config())
	client, err := rest.HTTPClientFor(e.proxy.Config())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	e.client = client
	return e
}

// answer is what a client was told, and how it ended.
type answer struct {
	*http.Response
	body string
	err  error
}

func (e *env) do(method, path, body string) answer {
	e.Helper()
	return e.doWithin(time.Minute, method, path, body)
}

func (e *env) doWithin(patience time.Duration, method, path, body string) answer {
	e.Helper()
	ctx, cancel := context.WithTimeout(e.Context(), patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, e.proxy.server.URL+path, strings.NewReader(body))
	if err != nil {
		e.Fatal(err)
	}
	response, err := e.client.Do(request)
	if err != nil {
		return answer{err: err}
	}
	defer func() { _ = response.Body.Close() }() // It was read.
	content, err := io.ReadAll(response.Body)
	return answer{response, string(content), err}
}

// eventually waits for what happens on the other side of a connection.
func (e *env) eventually(what string, check func() bool) {
	e.Helper()
	err := wait.PollUntilContextTimeout(e.Context(), 5*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return check(), nil
	})
	if err != nil {
		e.Fatalf("%s: %v", what, err)
	}
}
