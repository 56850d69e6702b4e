package webhooks

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/daytwo-dev/daytwo/tools/local/expect"
	"github.com/daytwo-dev/daytwo/tools/local/fixture"
)

// authority signs certificates.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, name string) authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	must(t, err)
	certificate, err := x509.ParseCertificate(der)
	must(t, err)
	return authority{certificate, key}
}

func (a authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.certificate.Raw})
}

// sign makes a certificate and its key for one use.
func (a authority) sign(t *testing.T, use x509.ExtKeyUsage) (tls.Certificate, []byte, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "kube-apiserver"}, NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{use}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	must(t, err)
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	private := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})
	pair, err := tls.X509KeyPair(certificate, private)
	must(t, err)
	return pair, certificate, private
}

// demanding serves what the webhooks are served with, and returns its URL and the file with the CAs of clients.
func demanding(t *testing.T, server authority, clients authority) (url, file string) {
	t.Helper()
	dir := t.TempDir()
	_, certificate, key := server.sign(t, x509.ExtKeyUsageServerAuth)
	must(t, os.WriteFile(filepath.Join(dir, certificateFile), certificate, 0o600))
	must(t, os.WriteFile(filepath.Join(dir, keyFile), key, 0o600))
	file = filepath.Join(dir, "clients.crt")
	must(t, os.WriteFile(file, clients.pem(), 0o600))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	address := listener.Addr().String()
	must(t, listener.Close())
	flags := Flags{address: address, certDir: dir, clientCA: file}
	webhooks, err := flags.Server()
	must(t, err)
	webhooks.Register("/validate", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	stop := fixture.Background(webhooks.Start)
	t.Cleanup(func() { must(t, stop()) })
	return "https://" + address + "/validate", file
}

// knock asks the webhooks, with a certificate or without one.
func knock(ctx context.Context, url string, server authority, with ...tls.Certificate) error {
	roots := x509.NewCertPool()
	roots.AddCert(server.certificate)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: with, MinVersion: tls.VersionTLS12}}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, nil)
	if err != nil {
		return err
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		err = fmt.Errorf("it answers %s", response.Status)
	}
	return err
}

func TestWebhooksAnswerTheAPIServerAlone(t *testing.T) {
	server, clients, others := newAuthority(t, "server"), newAuthority(t, "clients"), newAuthority(t, "others")
	url, file := demanding(t, server, clients)
	apiServer, _, _ := clients.sign(t, x509.ExtKeyUsageClientAuth)
	stranger, _, _ := others.sign(t, x509.ExtKeyUsageClientAuth)
	notForClients, _, _ := clients.sign(t, x509.ExtKeyUsageServerAuth)
	expect.Eventually(t, "the API server is answered", func(ctx context.Context) error { return knock(ctx, url, server, apiServer) })
	for name, with := range map[string][]tls.Certificate{
		"nobody": nil, "somebody with a certificate of another CA": {stranger}, "a server with a certificate of the CA": {notForClients},
	} {
		if err := knock(t.Context(), url, server, with...); err == nil {
			t.Errorf("%s is answered", name)
		}
	}
	must(t, os.WriteFile(file, others.pem(), 0o600))
	if err := knock(t.Context(), url, server, apiServer); err == nil {
		t.Error("a CA that was taken away still counts")
	}
	if err := knock(t.Context(), url, server, stranger); err != nil {
		t.Errorf("a CA that was put in its place does not count: %v", err)
	}
}

func TestWebhooksAreNotServedToAnybodyBecauseAFileIsMissing(t *testing.T) {
	server, dir := newAuthority(t, "server"), t.TempDir()
	_, certificate, key := server.sign(t, x509.ExtKeyUsageServerAuth)
	must(t, os.WriteFile(filepath.Join(dir, certificateFile), certificate, 0o600))
	must(t, os.WriteFile(filepath.Join(dir, keyFile), key, 0o600))
	for _, file := range []string{filepath.Join(dir, "missing"), filepath.Join(dir, keyFile)} {
		flags := Flags{address: "127.0.0.1:9443", certDir: dir, clientCA: file}
		if served, err := flags.Server(); served != nil || err == nil || !strings.Contains(err.Error(), "--webhook-client-ca-file="+file) {
			t.Errorf("Server() = %v, %v", served, err)
		}
	}
}
