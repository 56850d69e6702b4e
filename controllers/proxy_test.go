package controllers

import (
	"encoding/pem"
	"math"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// forever is more writes than a manager makes.
const forever = math.MaxInt

// failpoint blows after a number of writes: the last is carried out and its answer lost, and nothing passes
// any more. To an API server, that is a manager, or a helm, that was killed.
type failpoint struct {
	mu sync.Mutex
	// counts says what is one of those writes.
	counts func(*http.Request) bool
	left   int
	blown  chan struct{}
	// writes is how many of them passed, since ever.
	writes int64
	// swallows says which requests are never answered; nil for none. It is set before the first.
	swallows func(*http.Request) bool
}

func newFailpoint(counts func(*http.Request) bool) *failpoint {
	return &failpoint{counts: counts, left: forever, blown: make(chan struct{})}
}

// anyWrite is what leaves a trace on which something depends. Events are written at any time by a goroutine
// of their own, and nothing depends on them; a dry run leaves nothing.
func anyWrite(request *http.Request) bool {
	return request.Method != http.MethodGet && !strings.Contains(request.URL.Path, "/events") && !request.URL.Query().Has("dryRun")
}

// count changes what is one of the writes.
func (f *failpoint) count(counts func(*http.Request) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counts = counts
}

// passed is how many of the writes passed, since ever.
func (f *failpoint) passed() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.writes
}

// arm sets the failpoint anew, and returns a channel that is closed when it blows.
func (f *failpoint) arm(writes int) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left, f.blown = writes, make(chan struct{})
	return f.blown
}

// disarm lets everything pass, and returns whether it had blown already.
func (f *failpoint) disarm() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left == 0 {
		return true
	}
	f.left = forever
	return false
}

// admit says whether a request may pass, and whether it is the last.
func (f *failpoint) admit(request *http.Request) (pass, last bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left == 0 {
		return false, false
	}
	if !f.counts(request) {
		return true, false
	}
	f.writes++
	if f.left--; f.left == 0 {
		close(f.blown)
		return true, true
	}
	return true, false
}

// proxy stands between the manager and an API server.
type proxy struct {
	*httptest.Server
	// severed: nothing gets through, as if the network was down.
	severed atomic.Bool
}

// sever cuts the API server off, until restore.
func (p *proxy) sever() {
	p.severed.Store(true)
	p.CloseClientConnections()
}

// restore ends what sever began.
func (p *proxy) restore() { p.severed.Store(false) }

func newProxy(t *testing.T, upstream *rest.Config, f *failpoint) *proxy {
	t.Helper()
	transport, err := rest.TransportFor(upstream)
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(upstream.Host)
	if err != nil {
		t.Fatal(err)
	}
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Header.Del("Authorization")
		},
		Transport:     transport,
		FlushInterval: -1,
	}
	made := &proxy{}
	made.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if made.severed.Load() {
			panic(http.ErrAbortHandler)
		}
		if f.swallows != nil && f.swallows(r) {
			<-r.Context().Done()
			panic(http.ErrAbortHandler)
		}
		pass, last := f.admit(r)
		if !pass {
			panic(http.ErrAbortHandler)
		}
		if last {
			forward.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}
		forward.ServeHTTP(w, r)
	}))
	made.EnableHTTP2 = true
	made.StartTLS()
	t.Cleanup(func() {
		made.CloseClientConnections()
		made.Close()
	})
	return made
}

func (p *proxy) authority() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.Certificate().Raw})
}

func (p *proxy) config() *rest.Config {
	return &rest.Config{Host: p.URL, BearerToken: "anybody", QPS: -1, TLSClientConfig: rest.TLSClientConfig{CAData: p.authority()}}
}

func (p *proxy) kubeconfig(t *testing.T) []byte {
	t.Helper()
	raw, err := clientcmd.Write(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"c": {Server: p.URL, CertificateAuthorityData: p.authority()}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"u": {Token: "anybody"}},
		Contexts:       map[string]*clientcmdapi.Context{"x": {Cluster: "c", AuthInfo: "u"}},
		CurrentContext: "x",
	})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
