package charts

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	helm "helm.sh/helm/v4/pkg/registry"
)

func TestChartThatHelmPushedIsFetched(t *testing.T) {
	w := newEnv(t)
	r := newRegistry(t)
	w.serve(r, "registry.test")
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(w.ca)
	client, err := helm.NewClient(helm.ClientOptWriter(io.Discard), helm.ClientOptCredentialsFile(filepath.Join(t.TempDir(), "none")),
		helm.ClientOptHTTPClient(&http.Client{Transport: &http.Transport{
			DialContext: w.fetcher(Options{}).dial, TLSClientConfig: &tls.Config{RootCAs: roots},
		}}))
	if err != nil {
		t.Fatal(err)
	}
	archive := packed(t, "1.2.3+build.7", 1000)
	pushed, err := client.Push(archive, "registry.test/library/web:1.2.3+build.7")
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"1.2.3+build.7", "1.x"} {
		source := w.source(library)
		source.Version, source.Digest = version, pushed.Chart.Digest
		chart, err := w.fetcher(Options{}).Fetch(t.Context(), source)
		got(t, chart, err, "1.2.3+build.7", archive)
	}
}

func TestManifestOfUnknownLengthIsRead(t *testing.T) {
	w := newEnv(t)
	r := newRegistry(t)
	archive := r.push("1.0.0")
	w.serve(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) { r.ServeHTTP(chunked{rw}, req) }), "registry.test")
	chart, err := w.fetcher(Options{}).Fetch(t.Context(), w.source(library))
	got(t, chart, err, "1.0.0", archive)
}

// chunked sends bodies without their length.
type chunked struct{ http.ResponseWriter }

func (c chunked) WriteHeader(code int) {
	c.Header().Del("Content-Length")
	c.ResponseWriter.WriteHeader(code)
	c.ResponseWriter.(http.Flusher).Flush()
}

func TestCredentialFilesOfTheMachineAreNotRead(t *testing.T) {
	login := base64.StdEncoding.EncodeToString([]byte(alice.Username + ":" + alice.Password))
	config := `{"auths": {"registry.test": {"auth": "` + login + `"}, "charts.test": {"auth": "` + login + `"}}}`
	netrc := "machine charts.test login alice password " + alice.Password + "\n"
	home := t.TempDir()
	for file, content := range map[string]string{".docker/config.json": config, ".config/helm/registry/config.json": config, "config.json": config, ".netrc": netrc} {
		file = filepath.Join(home, file)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", home)
	t.Setenv("DOCKER_CONFIG", home)
	t.Setenv("HELM_REGISTRY_CONFIG", filepath.Join(home, "config.json"))
	w := newEnv(t)
	r := newRegistry(t)
	r.push("1.0.0")
	server := w.serve(guarded(r), "registry.test", "charts.test")
	for _, repository := range []string{library, stable} {
		_, err := w.fetcher(Options{}).Fetch(t.Context(), w.source(repository))
		refusedFor(t, err, AccessDenied, "401")
	}
	if server.sawSecrets() {
		t.Error("credentials of the machine were sent")
	}
}
