package charts

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestRegistryIsLoggedInToByBasicAuthentication(t *testing.T) {
	w := newEnv(t)
	r := newRegistry(t)
	archive := r.push("1.0.0")
	w.serve(guarded(r), "registry.test")
	f := w.fetcher(Options{})
	source := w.source(library)
	_, err := f.Fetch(t.Context(), source)
	refusedFor(t, err, AccessDenied, "registry.test", "401", "name a Secret")
	source.Credentials = &Credentials{Username: "alice", Password: "wrong"}
	_, err = f.Fetch(t.Context(), source)
	refusedFor(t, err, AccessDenied, "401", "check username and password")
	source.Credentials = alice
	chart, err := f.Fetch(t.Context(), source)
	got(t, chart, err, "1.0.0", archive)
}

// withTokens answers those who have a token, and sends the others to the realm for one.
func withTokens(inner http.Handler, realm string) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer token" {
			rw.Header().Set("Www-Authenticate", `Bearer realm="`+realm+`",service="registry.test"`)
			http.Error(rw, `{"errors":[{"code":"UNAUTHORIZED","message":"`+r.Header.Get("Authorization")+`"}]}`, http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(rw, r)
	}
}

func tokens(rw http.ResponseWriter, _ *http.Request) {
	_, _ = io.WriteString(rw, `{"token": "token"}`)
}

func TestRegistryIsLoggedInToByATokenOfItsOwnHost(t *testing.T) {
	w := newEnv(t)
	r := newRegistry(t)
	archive := r.push("1.0.0")
	mux := http.NewServeMux()
	mux.Handle("/", withTokens(r, "https://registry.test/token"))
	mux.Handle("/token", guarded(http.HandlerFunc(tokens)))
	server := w.serve(mux, "registry.test")
	source := w.source(library)
	_, err := w.fetcher(Options{}).Fetch(t.Context(), source)
	refusedFor(t, err, AccessDenied, "registry.test", "401", "name a Secret")
	source.Credentials = alice
	before := server.count("/token")
	chart, err := w.fetcher(Options{}).Fetch(t.Context(), source)
	got(t, chart, err, "1.0.0", archive)
	if asked := server.count("/token") - before; asked != 1 {
		t.Errorf("%d tokens for one fetch", asked)
	}
}

func TestTokenServiceOnAnotherHostGetsNoCredentials(t *testing.T) {
	w := newEnv(t)
	r := newRegistry(t)
	archive := r.push("1.0.0")
	strict := w.serve(guarded(http.HandlerFunc(tokens)), "strict.test")
	open := w.serve(http.HandlerFunc(tokens), "open.test")
	for host, allowed := range map[string]bool{"strict.test": false, "open.test": true} {
		w.serve(withTokens(r, "https://"+host+"/token"), "registry.test")
		source := w.source(library)
		source.Credentials = alice
		chart, err := w.fetcher(Options{}).Fetch(t.Context(), source)
		if allowed {
			// Like public repositories of Docker Hub: the token is for anybody.
			got(t, chart, err, "1.0.0", archive)
			continue
		}
		refusedFor(t, err, AccessDenied, `"strict.test"`, "credentials are sent to registry.test only")
	}
	if strict.sawSecrets() || open.sawSecrets() || strict.count("/token") == 0 || open.count("/token") == 0 {
		t.Error("a token service on another host was sent credentials, or nothing")
	}
}

func TestUselessTokenOfAnotherHostIsToldFromWrongCredentials(t *testing.T) {
	w := newEnv(t)
	open := w.serve(http.HandlerFunc(tokens), "open.test")
	w.serve(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Www-Authenticate", `Bearer realm="https://open.test/token"`)
		rw.WriteHeader(http.StatusUnauthorized)
	}), "registry.test")
	source := w.source(library)
	source.Credentials = alice
	_, err := w.fetcher(Options{}).Fetch(t.Context(), source)
	refusedFor(t, err, AccessDenied, `"open.test"`, "credentials are sent to registry.test only")
	if open.sawSecrets() {
		t.Error("the other host was sent credentials")
	}
}

func TestTokenServiceThatMayNotBeReachedIsRefused(t *testing.T) {
	w := newEnv(t)
	inside := w.serve(http.HandlerFunc(tokens), "inside.test")
	w.near[inside.address] = true
	for _, realm := range []string{
		"http://registry.test/token", "https://169.254.169.254/token", "https://[::1]/token", "https://127.0.0.1/token", "https://inside.test/token",
		"file:///etc/passwd", "https://bob:pw@registry.test/token", "token", "https://%zz",
	} {
		for _, credentials := range []*Credentials{nil, alice} {
			w.serve(withTokens(newRegistry(t), realm), "registry.test")
			source := w.source(library)
			source.Credentials = credentials
			_, err := w.fetcher(Options{}).Fetch(t.Context(), source)
			t.Logf("%s: %v", realm, err)
			refusedFor(t, err, SourceRefused, "registry.test")
		}
	}
	if inside.count("") != 0 {
		t.Error("what is near the manager was reached")
	}
}

func TestArchiveInTheStorageOfARegistryIsFetchedWithoutCredentials(t *testing.T) {
	for name, login := range map[string]func(http.Handler) http.HandlerFunc{
		"basic": guarded,
		"token": func(inner http.Handler) http.HandlerFunc {
			mux := http.NewServeMux()
			mux.Handle("/", withTokens(inner, "https://registry.test/token"))
			mux.Handle("/token", guarded(http.HandlerFunc(tokens)))
			return mux.ServeHTTP
		},
	} {
		w := newEnv(t)
		r := newRegistry(t)
		archive := r.push("1.0.0")
		storage := w.serve(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
			if req.URL.Query().Get("signature") == "" {
				rw.WriteHeader(http.StatusForbidden)
				return
			}
			_, _ = rw.Write(archive)
		}), "storage.test")
		w.serve(login(instead(r, "/blobs/", redirect("https://storage.test/object?signature=1"))), "registry.test")
		source := w.source(library)
		source.Credentials = alice
		chart, err := w.fetcher(Options{}).Fetch(t.Context(), source)
		t.Log(name)
		got(t, chart, err, "1.0.0", archive)
		if storage.count("/object") != 1 || storage.sawSecrets() {
			t.Errorf("%s: the storage was sent credentials, or nothing", name)
		}
	}
}

func TestSignatureOfAStorageURLIsInNoMessage(t *testing.T) {
	w := newEnv(t)
	r := newRegistry(t)
	r.push("1.0.0")
	for name, storage := range map[string]http.HandlerFunc{
		"broken": func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusBadGateway) },
		"denied": func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusForbidden) },
		"reset":  func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"loop":   redirect("https://storage.test/object?signature=top-secret"),
	} {
		w.serve(storage, "storage.test")
		w.serve(instead(r, "/blobs/", redirect("https://storage.test/object?signature=top-secret")), "registry.test")
		_, err := w.fetcher(Options{}).Fetch(t.Context(), w.source(library))
		t.Logf("%s: %v", name, err)
		if err == nil || strings.Contains(err.Error(), "top-secret") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
