package transport

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"

	"golang.org/x/net/http2"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/transport"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/bounded"
)

// errStale: the request has credentials that were replaced before it was sent.
var errStale = errors.New("the credentials were replaced")

// renewTries is how often a request is prepared again whose credentials were replaced in between.
const renewTries = 3

// credentials are what a connection is opened with, and what is added to each request. They never change; others replace them.
type credentials struct {
	tls    *tls.Config
	config *transport.Config
	// header is the value of Authorization; empty where the client certificate is all.
	header string
}

func newCredentials(config *rest.Config, hostname string) (*credentials, error) {
	config = denyPlugins(config)
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, fmt.Errorf("TLS configuration: %w", err)
	}
	if tlsConfig == nil {
		tlsConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	tlsConfig.NextProtos = []string{http2.NextProtoTLS}
	if tlsConfig.ServerName == "" {
		tlsConfig.ServerName = hostname
	}
	made := &credentials{tls: tlsConfig}
	if made.config, err = config.TransportConfig(); err != nil {
		return nil, fmt.Errorf("credentials: %w", err)
	}
	if config.BearerToken != "" {
		made.header = "Bearer " + config.BearerToken
	}
	return made, nil
}

// denyPlugins makes client-go itself refuse to run a credential plugin. No kubeconfig brings one this
// far, since Parse refuses those that name one; this holds for configurations from anywhere else.
func denyPlugins(config *rest.Config) *rest.Config {
	if config.ExecProvider == nil {
		return config
	}
	denied := rest.CopyConfig(config)
	denied.ExecProvider = config.ExecProvider.DeepCopy()
	denied.ExecProvider.PluginPolicy = clientcmdapi.PluginPolicy{PolicyType: clientcmdapi.PluginPolicyDenyAll}
	return denied
}

// Renew replaces the credentials. The next request opens a connection with the new ones, whose identity is checked like that
// of any other. What is under way goes on over the old connection, which ends when its last request does. The server, its CA
// and the proxy stay as they are.
func (l *Transport) Renew(config *rest.Config) error {
	renewed, err := newCredentials(config, l.current().tls.ServerName)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	renewed.tls.ServerName, renewed.tls.RootCAs = l.credentials.tls.ServerName, l.credentials.tls.RootCAs
	l.credentials = renewed
	if l.conn != nil {
		l.conn.SetDoNotReuse()
	}
	return nil
}

func (l *Transport) current() *credentials {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.credentials
}

// isStale: a request that was prepared with the old credentials would be sent over a connection of the new ones. Without a
// token, it would be anonymous there.
func (l *Transport) isStale(request *http.Request) bool {
	return request.Header.Get("Authorization") != l.current().header
}

// authorize adds credentials to what passes through it.
func (l *Transport) authorize(inner http.RoundTripper, with *credentials) http.RoundTripper {
	wrapped, err := transport.HTTPWrappersForConfig(with.config, inner)
	if err != nil {
		return failing{err}
	}
	return bounded.RoundTripper{Inner: wrapped, Root: l.root}
}

type failing struct{ err error }

func (f failing) RoundTrip(*http.Request) (*http.Response, error) { return nil, f.err }

// RoundTripper sends requests over the connection, with its credentials.
func (l *Transport) RoundTripper() http.RoundTripper {
	return l.fence.RoundTripper(authorizing{l})
}

// authorizing adds the credentials that are the newest when a request is sent.
type authorizing struct{ transport *Transport }

// RoundTrip implements http.RoundTripper. A request that met a replacement of the credentials was not sent, and is prepared again.
func (a authorizing) RoundTrip(request *http.Request) (*http.Response, error) {
	for try := 1; ; try++ {
		response, err := a.transport.authorize(a.transport.http2, a.transport.current()).RoundTrip(request)
		if try == renewTries || !errors.Is(err, errStale) {
			return response, err
		}
		if request, err = again(request); err != nil {
			return nil, err
		}
	}
}

// again is a request whose body begins anew.
func again(request *http.Request) (*http.Request, error) {
	if request.Body == nil || request.Body == http.NoBody {
		return request, nil
	}
	if request.GetBody == nil {
		return nil, errStale
	}
	body, err := request.GetBody()
	if err != nil {
		return nil, err
	}
	fresh := request.Clone(request.Context())
	fresh.Body = body
	return fresh, nil
}
