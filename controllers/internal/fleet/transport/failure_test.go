package transport

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/daytwo-dev/daytwo/controllers/internal/issuance/issuancetest"
	"github.com/daytwo-dev/daytwo/internal/listenertest"
	"github.com/daytwo-dev/daytwo/internal/netguard"
)

// hidden is in all that the servers of these tests say, and in nothing that is told.
const hidden = "vault-7"

var anywhere = netguard.Guard{Rule: netguard.All}

// certificate is of a server called vault-7, and is its own CA.
func certificate(t *testing.T, notAfter time.Time) tls.Certificate {
	t.Helper()
	issued := issuancetest.Root(t, hidden, func(c *x509.Certificate) {
		c.DNSNames = []string{hidden + ".internal"}
		c.NotBefore, c.NotAfter = notAfter.Add(-time.Hour), notAfter
	})
	return tls.Certificate{Certificate: [][]byte{issued.Raw}, PrivateKey: issued.Key}
}

// serving is a server with a certificate, which its CA signed, or that of somebody else.
func serving(t *testing.T, own tls.Certificate, protocols []string, answer http.HandlerFunc) *rest.Config {
	t.Helper()
	server := httptest.NewUnstartedServer(answer)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{own}, NextProtos: protocols, MinVersion: tls.VersionTLS12}
	server.EnableHTTP2 = len(protocols) == 0
	server.Config.ErrorLog = nil
	server.StartTLS()
	t.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: own.Certificate[0]})
	return &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{CAData: ca, ServerName: hidden + ".internal"}}
}

// talking answers every connection with a text, and closes it.
func talking(t *testing.T, text string) (address string) {
	t.Helper()
	return listenertest.Serve(t, func(conn net.Conn) { _, _ = io.WriteString(conn, text) })
}

func TestNothingOfWhatAnswersIsTold(t *testing.T) {
	good, expired, other := certificate(t, time.Now().Add(time.Hour)), certificate(t, time.Now().Add(-time.Hour)), certificate(t, time.Now().Add(time.Hour))
	answers := func(code int, contentType, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			w.Header().Set("Location", "https://"+hidden)
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		}
	}
	wrongCA := serving(t, good, nil, answers(200, "text/plain", ""))
	wrongCA.CAData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: other.Certificate[0]})
	wrongName := serving(t, good, nil, answers(200, "text/plain", ""))
	wrongName.ServerName = "cluster.example"
	proxied := &rest.Config{Host: "https://cluster.example", Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: talking(t, "SSH-2.0-"+hidden+"\r\n")})}
	refusedByProxy := &rest.Config{Host: "https://cluster.example", Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: talking(t, "HTTP/1.1 403 "+hidden+"\r\n\r\n")})}
	for name, c := range map[string]struct {
		config *rest.Config
		says   string
	}{
		"another CA":               {wrongCA, "not signed by the CA"},
		"another name":             {wrongName, "for another name"},
		"an expired certificate":   {serving(t, expired, nil, answers(200, "text/plain", "")), "it has expired"},
		"HTTP/1 alone":             {serving(t, good, []string{"http/1.1"}, answers(200, "text/plain", hidden)), ""},
		"another protocol":         {&rest.Config{Host: "https://" + talking(t, "SSH-2.0-"+hidden+"\r\n")}, "no Kubernetes API server"},
		"HTTP without TLS":         {&rest.Config{Host: "https://" + talking(t, "HTTP/1.1 400 "+hidden+"\r\n\r\n"+hidden)}, "no Kubernetes API server"},
		"a proxy that is none":     {proxied, "no Kubernetes API server"},
		"a proxy that refuses":     {refusedByProxy, "the proxy answers 403"},
		"a page":                   {serving(t, good, nil, answers(200, "text/html", "<h1>"+hidden)), "is this a Kubernetes API server?"},
		"a page of another format": {serving(t, good, nil, answers(200, "application/"+hidden, hidden)), "is this a Kubernetes API server?"},
		"JSON of something else":   {serving(t, good, nil, answers(200, "application/json", `{"name":"`+hidden+`"}`)), "is this a Kubernetes API server?"},
		"a redirect":               {serving(t, good, nil, answers(302, "text/plain", hidden)), "is this a Kubernetes API server?"},
		"an error":                 {serving(t, good, nil, answers(404, "text/plain", hidden)), "is this a Kubernetes API server?"},
		"an error of Kubernetes":   {serving(t, good, nil, answers(503, "application/json", `{"kind":"Status","code":503,"message":"`+hidden+`","reason":"`+hidden+`"}`)), "answers 503 Service Unavailable"},
		"a refusal":                {serving(t, good, nil, answers(401, "text/plain", hidden)), "answers 401 Unauthorized"},
	} {
		t.Run(name, func(t *testing.T) {
			err := ask(t, c.config, anywhere)
			told := Explain(err)
			if strings.Contains(told, hidden) || !strings.Contains(told, c.says) {
				t.Errorf("it tells %q, want %q in it and nothing of the server's; the error is %v", told, c.says, err)
			}
		})
	}
}
