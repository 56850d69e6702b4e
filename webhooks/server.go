package webhooks

import (
	"crypto/tls"
	"flag"
	"fmt"
	"net"
	"path/filepath"
	"strconv"

	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// Files of --webhook-cert-dir, named as in a Secret of type kubernetes.io/tls.
const (
	certificateFile = "tls.crt"
	keyFile         = "tls.key"
)

// Flags say where the webhooks are served.
type Flags struct {
	address string
	certDir string
}

// Bind adds the flags to a set.
func (f *Flags) Bind(set *flag.FlagSet) {
	set.StringVar(&f.address, "webhook-bind-address", "0", "address to serve the admission webhooks on, over TLS; 0 for none")
	set.StringVar(&f.certDir, "webhook-cert-dir", "/etc/daytwo/webhook", "directory with tls.crt and tls.key of the admission webhooks, read again when they change")
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
	return webhook.NewServer(webhook.Options{
		Host: host, Port: int(number), CertDir: f.certDir, CertName: certificateFile, KeyName: keyFile,
	}), nil
}

// Serve adds the webhooks to the manager, which is ready once it serves them.
func (f *Flags) Serve(mgr manager.Manager, options Options) error {
	if f.off() {
		return nil
	}
	if err := SetupWithManager(mgr, options); err != nil {
		return err
	}
	return mgr.AddReadyzCheck("webhooks", mgr.GetWebhookServer().StartedChecker())
}
