package deadline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

const soon = 50 * time.Millisecond

// swallow ends no answer: /silent never begins one, /begins does, /events adds something every 20 ms.
func swallow(w http.ResponseWriter, r *http.Request) {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for r.URL.Path != "/silent" {
		_, _ = fmt.Fprintln(w, "event")
		w.(http.Flusher).Flush()
		if r.URL.Path == "/begins" {
			break
		}
		select {
		case <-ticker.C:
		case <-r.Context().Done():
			return
		}
	}
	<-r.Context().Done()
}

func TestRequestsEndInTime(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(swallow))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	for name, test := range map[string]struct {
		method, path string
		limits       Limits
	}{
		"a write that is swallowed":   {http.MethodPatch, "/silent", Limits{Write: soon, Read: time.Hour, Watch: time.Hour}},
		"a write with half an answer": {http.MethodPost, "/begins", Limits{Write: soon, Read: time.Hour, Watch: time.Hour}},
		"a read that is swallowed":    {http.MethodGet, "/silent", Limits{Write: time.Hour, Read: soon, Watch: time.Hour}},
		"a read with half an answer":  {http.MethodGet, "/begins", Limits{Write: time.Hour, Read: soon, Watch: time.Hour}},
		"a watch that is swallowed":   {http.MethodGet, "/silent?watch=true", Limits{Write: time.Hour, Read: time.Hour, Watch: soon}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := do(t.Context(), t, server, test.limits, test.method, test.path)
			if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "no answer within "+soon.String()) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// TestASilentWatchEnds: a watch that asks for bookmarks hears of one each minute, and otherwise stands still.
func TestASilentWatchEnds(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(swallow))
	defer server.Close()
	limits := Limits{Write: time.Hour, Read: time.Hour, Watch: time.Hour, Silence: soon}
	_, err := do(t.Context(), t, server, limits, http.MethodGet, "/begins?watch=true&allowWatchBookmarks=true")
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "no event or bookmark within "+soon.String()) {
		t.Errorf("the error is %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*soon)
	defer cancel()
	if _, err := do(ctx, t, server, limits, http.MethodGet, "/begins?watch=true"); err == nil || strings.Contains(err.Error(), "bookmark") {
		t.Errorf("a watch without bookmarks ended with %v", err)
	}
}

func TestAWatchGoesOn(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(swallow))
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*soon)
	defer cancel()
	text, err := do(ctx, t, server, Limits{Write: soon, Read: soon, Watch: soon, Silence: 6 * soon}, http.MethodGet, "/events?watch=true&allowWatchBookmarks=true")
	if events := strings.Count(text, "event"); events < 5 || err == nil || strings.Contains(err.Error(), "no answer") {
		t.Errorf("it ended after %d events: %v", events, err)
	}
}

func do(ctx context.Context, t *testing.T, server *httptest.Server, limits Limits, method, path string) (string, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, method, server.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := RoundTripper(server.Client().Transport, limits).RoundTrip(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return string(text), err
}
