package charts

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"

	"github.com/daytwo-dev/daytwo/internal/netguard"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

// patience is far longer than anything takes on an idle machine.
const patience = 3 * time.Minute

// env is an Internet of test servers with names, certificates of one CA, and nothing else.
type env struct {
	*testing.T
	ca    []byte
	key   *ecdsa.PrivateKey
	cert  *x509.Certificate
	names map[string]string // host:port to the address of its server
	near  map[string]bool   // addresses that count as not public
}

func newEnv(t *testing.T) *env {
	t.Helper()
	w := &env{T: t, names: map[string]string{}, near: map[string]bool{}}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		DNSNames: []string{"*.test", "*.charts.test"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	w.key, w.ca = key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if w.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return w
}

// server records the requests that it answers.
type server struct {
	address string
	handler http.Handler

	mu       sync.Mutex
	requests []*http.Request
}

func (s *server) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests = append(s.requests, r)
	s.mu.Unlock()
	s.handler.ServeHTTP(rw, r)
}

// count the requests whose path contains part.
func (s *server) count(part string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	count := 0
	for _, r := range s.requests {
		if strings.Contains(r.URL.Path, part) {
			count++
		}
	}
	return count
}

// sawSecrets is whether any request had something that could be secret.
func (s *server) sawSecrets() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.requests {
		if r.Header.Get("Authorization") != "" || r.Header.Get("Cookie") != "" || r.Header.Get("Referer") != "" {
			return true
		}
	}
	return false
}

// serve starts a server with the names.
func (w *env) serve(handler http.Handler, names ...string) *server {
	w.Helper()
	s := &server{handler: handler}
	ts := httptest.NewUnstartedServer(s)
	ts.Config.ErrorLog = log.New(io.Discard, "", 0)
	ts.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{w.cert.Raw}, PrivateKey: w.key}}}
	ts.StartTLS()
	w.Cleanup(func() {
		ts.CloseClientConnections()
		ts.Close()
	})
	s.address = ts.Listener.Addr().String()
	for _, name := range names {
		w.names[name+":443"] = s.address
	}
	return s
}

// fetcher reaches the servers by their names, and takes their addresses for public ones, except
// those that are near.
func (w *env) fetcher(options Options) *Fetcher {
	f := NewFetcher(options)
	f.guard.Rule = func(address netip.AddrPort) bool {
		if w.near[address.String()] {
			return false
		}
		for _, known := range w.names {
			if known == address.String() {
				return true
			}
		}
		return netguard.Public(address)
	}
	dial := f.dial
	f.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		if known, there := w.names[address]; there {
			address = known
		}
		return dial(ctx, network, address)
	}
	return f
}

func (w *env) source(repository string) Source {
	return Source{Repository: repository, Name: "web", Version: "1.x", CA: w.ca}
}

var alice = &Credentials{Username: "alice", Password: "s3cr3t-of-alice"}

// packed is a chart as helm package makes it, with some bytes that cannot be compressed.
func packed(t testing.TB, version string, size int) []byte {
	t.Helper()
	noise := make([]byte, size)
	if _, err := rand.Read(noise); err != nil {
		t.Fatal(err)
	}
	file, err := chartutil.Save(&chart.Chart{
		Metadata: &chart.Metadata{APIVersion: "v2", Name: "web", Version: version},
		Files:    []*common.File{{Name: "noise", Data: noise}},
	}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	archive, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return archive
}

// refusedFor fails the test unless err is an *Error with the reason, and its message has the words
// and no credentials.
func refusedFor(t *testing.T, err error, reason Reason, words ...string) {
	t.Helper()
	if got, _ := ReasonOf(err); got != reason {
		t.Fatalf("got reason %q (%v), want %q", got, err, reason)
	}
	says(t, err, words...)
}

// passes fails the test unless err is one that another try may mend.
func passes(t *testing.T, err error, words ...string) {
	t.Helper()
	if reason, final := ReasonOf(err); err == nil || final {
		t.Fatalf("got %v (%s), want an error that may pass", err, reason)
	}
	says(t, err, words...)
}

func says(t *testing.T, err error, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("the message lacks %q: %s", word, err)
		}
	}
	if strings.Contains(err.Error(), alice.Password) {
		t.Errorf("the message holds the password: %s", err)
	}
	if len(err.Error()) > 1000 {
		t.Errorf("the message has %d bytes", len(err.Error()))
	}
}

func got(t *testing.T, chart *Chart, err error, version string, archive []byte) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if chart.Name != "web" || chart.Version != version || chart.Digest != digestOf(archive) || !bytes.Equal(chart.Archive, archive) {
		t.Errorf("got %s %s %s (%d bytes), want version %s, %s", chart.Name, chart.Version, chart.Digest, len(chart.Archive), version, digestOf(archive))
	}
}

// allocated is how many bytes a function allocates, all goroutines of the process included. It is
// never less than what was held at one time.
func allocated(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// goroutines of this package and of HTTP clients that are alive.
func goroutines() []string {
	buffer := make([]byte, 4<<20)
	buffer = buffer[:runtime.Stack(buffer, true)]
	var ours []string
	for _, stack := range strings.Split(string(buffer), "\n\n") {
		client := strings.Contains(stack, "net/http.(*persistConn)") || strings.Contains(stack, "net/http.(*Transport)")
		fetcher := strings.Contains(stack, "charts.(*AsyncFetcher") || strings.Contains(stack, "charts.(*Fetcher") || strings.Contains(stack, "otter")
		if (client || fetcher) && !strings.Contains(stack, "testing.tRunner(") {
			ours = append(ours, stack)
		}
	}
	return ours
}

// noGoroutineIsLeft waits for those that have been told to end.
func noGoroutineIsLeft(t *testing.T) {
	t.Helper()
	eventually(t, "no goroutine is left", func() bool { return len(goroutines()) == 0 })
}

func eventually(t *testing.T, what string, check func() bool) {
	t.Helper()
	expect.Eventually(t, what, func(context.Context) error {
		if check() {
			return nil
		}
		return errors.New(strings.Join(goroutines(), "\n\n"))
	})
}
