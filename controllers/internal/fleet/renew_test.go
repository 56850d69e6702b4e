package fleet

import (
	"crypto/tls"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/transport"
	"github.com/daytwo-dev/daytwo/controllers/internal/kubeconfig"
)

// certified is the first cluster by way of a client certificate alone.
func certified(t *testing.T) kubeconfig.Access {
	t.Helper()
	content, err := shared.first.KubeconfigFor("certified", []string{"system:masters"}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	access, err := kubeconfig.Parse(content, kubeconfig.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return access
}

func TestRenewedCredentialsCloseNothing(t *testing.T) {
	r := newRig(t, patient())
	access := certified(t)
	cluster := r.connected(access)
	object := r.watched(cluster)
	var disturbed atomic.Int32
	r.fleet.Subscribe(Subscriber{Cluster: func(types.NamespacedName) { disturbed.Add(1) }})
	renewed, err := access.WithToken(token)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		r.fleet.Renew(r.key, renewed)
		if err := cluster.Confirm(t.Context()); err != nil {
			t.Errorf("a request after the renewal: %v", err)
		}
		r.fleet.Renew(r.key, access)
		object = r.edit(object)
		r.seen(cluster.Tracker, object)
	}
	if now, ok := r.fleet.Get(r.key); !ok || now != cluster || disturbed.Load() > 0 {
		t.Errorf("the cluster is still handed out: %t, it changed %d times", ok && now == cluster, disturbed.Load())
	}
}

func TestCredentialsForAnotherAddressTakeANewConnection(t *testing.T) {
	r := newRig(t, patient())
	access := certified(t)
	before := r.connected(access)
	other := access
	other.TLSServerName = "localhost"
	r.fleet.Renew(r.key, other)
	r.eventually("another connection is in use", func() bool {
		after, ok := r.fleet.Get(r.key)
		return ok && after != before
	})
}

// A request without a token over a connection without a certificate would be anonymous.
func TestNoRequestIsAnonymousWhileCredentialsAreRenewed(t *testing.T) {
	pair := certified(t)
	var anonymous, outdated atomic.Int32
	var renewed atomic.Bool
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if len(request.TLS.PeerCertificates) == 0 && request.Header.Get("Authorization") == "" {
			anonymous.Add(1)
		}
		if request.URL.Query().Has("after") && (len(request.TLS.PeerCertificates) > 0 || request.Header.Get("Authorization") != "Bearer "+token) {
			outdated.Add(1)
		}
		w.Header().Set("Content-Type", "application/json")
		if request.URL.Path == "/version" {
			_, _ = w.Write([]byte(`{"gitVersion":"v1.36.3"}`))
			return
		}
		_, _ = w.Write([]byte(`{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system","uid":"scripted"}}`))
	}))
	server.EnableHTTP2 = true
	server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)
	pair.Server, pair.TLSServerName = server.URL, ""
	pair.CAData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	opened, err := transport.New(pair.RESTConfig(), Options{Timeouts: timeouts(), Guard: anywhere}.transport(types.NamespacedName{}), func() {})
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	withToken, err := pair.WithToken(token)
	if err != nil {
		t.Fatal(err)
	}
	through := opened.RoundTripper()
	request := func() {
		query := ""
		if renewed.Load() {
			query = "?after"
		}
		made, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+transport.IdentityPath+query, nil)
		if err != nil {
			t.Error(err)
			return
		}
		response, err := through.RoundTrip(made)
		if err != nil {
			t.Errorf("a request failed: %v", err)
			return
		}
		_ = response.Body.Close() // Nothing of it is needed.
	}
	var asking sync.WaitGroup
	for range 8 {
		asking.Go(func() {
			for range 200 {
				request()
			}
		})
	}
	for range 20 {
		request()
		if err := opened.Renew(withToken.RESTConfig()); err != nil {
			t.Error(err)
		}
		request()
		if err := opened.Renew(pair.RESTConfig()); err != nil {
			t.Error(err)
		}
	}
	if err := opened.Renew(withToken.RESTConfig()); err != nil {
		t.Error(err)
	}
	renewed.Store(true)
	asking.Wait()
	request()
	if anonymous.Load() > 0 || outdated.Load() > 0 {
		t.Errorf("%d requests were anonymous, %d had the old credentials after these were replaced", anonymous.Load(), outdated.Load())
	}
}

func TestATrialTellsWhoIsThereAndWhetherTheCredentialsAreGood(t *testing.T) {
	r := newRig(t, timeouts())
	access := certified(t)
	cluster := r.connected(access)
	trial, err := r.fleet.try(t.Context(), r.key, access)
	if err != nil {
		t.Fatal(err)
	}
	defer trial.Close()
	if trial.Identity != cluster.ID {
		t.Errorf("the trial leads to %s, the connection to %s", trial.Identity, cluster.ID)
	}
	bad, err := access.WithToken("nobody's")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.fleet.try(t.Context(), r.key, bad); !IsUnauthorized(err) {
		t.Errorf("with a token of nobody's: %v", err)
	}
}
