package registry

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	helmregistry "helm.sh/helm/v4/pkg/registry"
	"helm.sh/helm/v4/pkg/repo/v1"

	"github.com/daytwo-dev/daytwo/e2e/charts"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

func start(t *testing.T, options Options) *Server {
	t.Helper()
	server, err := Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server
}

func archiveOf(t *testing.T, name, version string) []byte {
	t.Helper()
	archive, err := charts.Archive(name, version)
	if err != nil {
		t.Fatal(err)
	}
	return archive
}

func push(t *testing.T, server *Server, name, version string) Published {
	t.Helper()
	published, err := server.Push(archiveOf(t, name, version))
	if err != nil {
		t.Fatal(err)
	}
	return published
}

// trusting is a client that knows nothing but the server's authority.
func trusting(t *testing.T, server *Server) *http.Client {
	t.Helper()
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(server.CA()) {
		t.Fatal("the authority is no certificate")
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authorities, MinVersion: tls.VersionTLS12}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// helm is a client as helm pull has it, without the credentials of whoever runs the test.
func helm(t *testing.T, server *Server, options ...helmregistry.ClientOption) *helmregistry.Client {
	t.Helper()
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	client, err := helmregistry.NewClient(append([]helmregistry.ClientOption{
		helmregistry.ClientOptHTTPClient(trusting(t, server)),
		helmregistry.ClientOptCredentialsFile(filepath.Join(t.TempDir(), "credentials.json")),
	}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func reference(server *Server, suffix string) string {
	return strings.TrimPrefix(server.OCI(), "oci://") + "/" + suffix
}

// get returns a response's status and body.
func get(t *testing.T, client *http.Client, url string, options ...func(*http.Request)) (int, []byte) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, option := range options {
		option(request)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, body
}

// index is the repository's as Helm reads it.
func index(t *testing.T, server *Server) *repo.IndexFile {
	t.Helper()
	_, content := get(t, trusting(t, server), server.HTTPS()+"index.yaml")
	file := filepath.Join(t.TempDir(), "index.yaml")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	loaded, err := repo.LoadIndexFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	expect.EventuallyTrue(t, what, func(context.Context) (bool, error) { return is(), nil })
}
