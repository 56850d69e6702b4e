package webhooks

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"

	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// Files of --webhook-cert-dir, named as in a Secret of type kubernetes.io/tls.
const (
	certificateFile = "tls.crt"
	keyFile         = "tls.key"
)

// Flags say where the webhooks are served, and to whom.
type Flags struct {
	address  string
	certDir  string
	clientCA string
}

// Bind adds the flags to a set.
func (f *Flags) Bind(set *flag.FlagSet) {
	set.StringVar(&f.address, "webhook-bind-address", "0", "address to serve the admission webhooks on, over TLS; 0 for none")
	set.StringVar(&f.certDir, "webhook-cert-dir", "/etc/daytwo/webhook", "directory with tls.crt and tls.key of the admission webhooks, read again when they change")
	set.StringVar(&f.clientCA, "webhook-client-ca-file", "", "file with the CA certificates (PEM) of which one has signed the client certificate that the API server shows to the admission webhooks, read again when it changes (default: anybody is answered)")
}

func (f *Flags) off() bool { return f.address == "0" || f.address == "" }

// Server to give to the manager; nil if no webhooks are to be served.
func (f *Flags) Server() (webhook.Server, error) {
	if f.off() {
		return nil, nil
	}
	host, port, err := net.SplitHostPort(f.address)
	if err != nil {
		return nil, fmt.Errorf("--webhook-bind-address=%s: %w: write it as :9443, or 0 for none", f.address, err)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil || number == 0 {
		return nil, fmt.Errorf("--webhook-bind-address=%s: %q is no port: write it as :9443, or 0 for none", f.address, port)
	}
	// The server's own complaint names no flag, and the manager looks at it only when its caches are filled.
	if _, err := tls.LoadX509KeyPair(filepath.Join(f.certDir, certificateFile), filepath.Join(f.certDir, keyFile)); err != nil {
		return nil, fmt.Errorf("--webhook-cert-dir=%s: %w: put a certificate and its key there, as %s and %s, or serve no webhooks with --webhook-bind-address=0",
			f.certDir, err, certificateFile, keyFile)
	}
	options := webhook.Options{Host: host, Port: int(number), CertDir: f.certDir, CertName: certificateFile, KeyName: keyFile}
	if f.clientCA != "" {
		if _, err := readAuthorities(f.clientCA); err != nil {
			return nil, fmt.Errorf("--webhook-client-ca-file=%s: %w", f.clientCA, err)
		}
		options.TLSOpts = []func(*tls.Config){demandCertificate(f.clientCA)}
	}
	return webhook.NewServer(options), nil
}

// demandCertificate answers only those whose certificate was signed by a CA of a file. The file is read at each handshake, of
// which there are few: the API server keeps its connections.
func demandCertificate(file string) func(*tls.Config) {
	return func(config *tls.Config) {
		config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
			authorities, err := readAuthorities(file)
			if err != nil {
				return nil, err
			}
			demanding := config.Clone()
			demanding.GetConfigForClient = nil
			demanding.ClientAuth, demanding.ClientCAs = tls.RequireAndVerifyClientCert, authorities
			demanding.SessionTicketsDisabled = true // A CA that is taken out of the file counts at once.
			return demanding, nil
		}
	}
}

func readAuthorities(file string) (*x509.CertPool, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(content) {
		return nil, errors.New("it holds no certificate in PEM")
	}
	return authorities, nil
}

// Serve adds the webhooks to the manager, which is ready once it serves them.
func (f *Flags) Serve(mgr manager.Manager, options Options) error {
	if f.off() {
		return nil
	}
	options.OnlyAPIServers = options.OnlyAPIServers || f.clientCA != ""
	if err := SetupWithManager(mgr, options); err != nil {
		return err
	}
	started := mgr.GetWebhookServer().StartedChecker()
	if f.clientCA != "" {
		started = once(started)
	}
	return mgr.AddReadyzCheck("webhooks", started)
}

// once asks no more after the first success: the check shows no certificate, and each is a handshake that fails, in the log.
func once(check healthz.Checker) healthz.Checker {
	var succeeded atomic.Bool
	return func(request *http.Request) error {
		if succeeded.Load() {
			return nil
		}
		err := check(request)
		succeeded.Store(err == nil)
		return err
	}
}
