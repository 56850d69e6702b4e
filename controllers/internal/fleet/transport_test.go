package fleet

import (
	"crypto/tls"
	"encoding/pem"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/transport"
	"github.com/daytwo-dev/daytwo/controllers/internal/kubeconfig"
)

// No kubeconfig gets this far with a plugin; a configuration from elsewhere must not either.
func TestCredentialPluginIsNotRun(t *testing.T) {
	witness := filepath.Join(t.TempDir(), "ran")
	config := &rest.Config{
		Host: shared.first.Endpoint(), TLSClientConfig: rest.TLSClientConfig{CAData: shared.first.Config().CAData},
		ExecProvider: &clientcmdapi.ExecConfig{
			APIVersion: "client.authentication.k8s.io/v1", Command: "touch", Args: []string{witness},
			InteractiveMode: clientcmdapi.NeverExecInteractiveMode,
		},
	}
	link, err := transport.New(config, Options{Timeouts: timeouts(), Guard: anywhere}.transport(types.NamespacedName{}), func() {})
	if err != nil {
		t.Fatal(err)
	}
	defer link.Close()
	_, err = transport.ReadIdentity(t.Context(), config.Host, link.RoundTripper())
	if err == nil || !strings.Contains(err.Error(), `plugin "touch" not allowed`) {
		t.Errorf("got %v, and not that the plugin was denied", err)
	}
	if _, err := os.Stat(witness); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the plugin ran: %v", err)
	}
	if policy := config.ExecProvider.PluginPolicy.PolicyType; policy != "" {
		t.Errorf("the caller's configuration was changed: %s", policy)
	}
}

// A cluster's own people see in its audit log who asks.
func TestRequestsSayWhoAsks(t *testing.T) {
	agents := make(chan string, 1)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		select {
		case agents <- request.UserAgent():
		default:
		}
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	r := newRig(t, timeouts())
	r.fleet.Connect(r.key, kubeconfig.Access{
		Server: server.URL, Token: token, CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	})
	if agent := <-agents; agent != metav1alpha1.FieldManager {
		t.Errorf("the request was made by %q", agent)
	}
}

// What a server may send before it is read is memory that it takes.
func TestAServerMaySendLittleAheadOfWhatIsRead(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	pair := server.TLS.Certificates
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: pair, NextProtos: []string{http2.NextProtoTLS}, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	r := newRig(t, timeouts())
	r.fleet.Connect(r.key, kubeconfig.Access{
		Server: "https://" + listener.Addr().String(), Token: token,
		CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	})
	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.ReadFull(conn, make([]byte, len(http2.ClientPreface))); err != nil {
		t.Fatal(err)
	}
	frames := http2.NewFramer(io.Discard, conn)
	var stream, header, connection uint32
	for connection == 0 {
		frame, err := frames.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			stream, _ = frame.Value(http2.SettingInitialWindowSize)
			header, _ = frame.Value(http2.SettingMaxHeaderListSize)
		case *http2.WindowUpdateFrame:
			connection = frame.Increment
		}
	}
	if stream != transport.StreamBuffer || connection > transport.ConnectionBuffer || header != transport.MaxHeader {
		t.Errorf("the server may send %d bytes of an answer, %d of all together, and a header of %d", stream, connection, header)
	}
}
