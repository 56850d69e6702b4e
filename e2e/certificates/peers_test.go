package certificates

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// peers are workloads in several clusters that connect to each other, each with what it has loaded from its own cluster.
type peers struct {
	t       *testing.T
	loaded  map[string]*atomic.Pointer[identity]
	cancel  context.CancelFunc
	running sync.WaitGroup
	made    atomic.Int64
}

// identity is what a workload has loaded: its certificate, and whom it trusts.
type identity struct {
	certificate tls.Certificate
	trusted     *x509.CertPool
}

// reloading is how often workloads load what is stored: well within the time that they are given.
const reloading = propagation / 4

func (s *suite) startPeers(clusters []string) *peers {
	s.Helper()
	ctx, cancel := context.WithCancel(s.Context())
	p := &peers{t: s.T, loaded: map[string]*atomic.Pointer[identity]{}, cancel: cancel}
	s.Cleanup(cancel)
	for _, cluster := range clusters {
		p.loaded[cluster] = &atomic.Pointer[identity]{}
		first, err := s.loadIdentity(ctx, cluster)
		must(s, err)
		p.loaded[cluster].Store(first)
	}
	for _, cluster := range clusters {
		p.running.Go(func() { p.reload(ctx, s, cluster) })
	}
	p.running.Go(func() { p.connect(ctx, clusters) })
	return p
}

// loadIdentity reads what is stored in a cluster.
func (s *suite) loadIdentity(ctx context.Context, cluster string) (*identity, error) {
	secret, err := s.secret(ctx, cluster, "ingress")
	if err != nil {
		return nil, err
	}
	anchors, err := s.trust(ctx, cluster)
	if err != nil {
		return nil, err
	}
	next := &identity{trusted: x509.NewCertPool()}
	if !next.trusted.AppendCertsFromPEM([]byte(anchors)) {
		return nil, errors.New("there are no anchors")
	}
	next.certificate, err = tls.X509KeyPair(secret.Data["tls.crt"], secret.Data["tls.key"])
	return next, err
}

func (p *peers) reload(ctx context.Context, s *suite, cluster string) {
	for pause(ctx, reloading) {
		next, err := s.loadIdentity(ctx, cluster)
		if err == nil {
			p.loaded[cluster].Store(next)
		} else if ctx.Err() == nil {
			p.t.Logf("%s loads nothing: %v", cluster, err)
		}
	}
}

// connect has every workload connect to every other one, again and again. Both ask for a certificate.
func (p *peers) connect(ctx context.Context, clusters []string) {
	for pause(ctx, 10*time.Millisecond) {
		for _, server := range clusters {
			for _, one := range clusters {
				if err := handshake(p.loaded[server].Load(), p.loaded[one].Load(), server); err != nil {
					p.t.Errorf("%s connects to %s: %v", one, server, err)
					return
				}
				p.made.Add(1)
			}
		}
	}
}

// handshake connects a client to a server.
func handshake(server, client *identity, cluster string) error {
	there, here := net.Pipe()
	defer here.Close()
	accepting := tls.Server(there, &tls.Config{Certificates: []tls.Certificate{server.certificate}, ClientCAs: server.trusted, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS13})
	dialling := tls.Client(here, &tls.Config{Certificates: []tls.Certificate{client.certificate}, RootCAs: client.trusted, ServerName: "shop." + cluster + ".gold.test", MinVersion: tls.VersionTLS13})
	accepted := make(chan error, 1)
	go func() {
		defer there.Close()
		if err := accepting.Handshake(); err != nil {
			accepted <- fmt.Errorf("the server: %w", err)
			return
		}
		accepted <- nil
		_ = accepting.Close() // The client reads to the end.
	}()
	if err := dialling.Handshake(); err != nil {
		return fmt.Errorf("the client: %w", err)
	}
	// What the server says of the client's certificate comes after the client's handshake.
	if _, err := io.Copy(io.Discard, dialling); err != nil {
		return fmt.Errorf("the client: %w", err)
	}
	return <-accepted
}

// pause is whether there is time for another round.
func pause(ctx context.Context, length time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(length):
		return true
	}
}

// end returns how many connections there were.
func (p *peers) end() int64 {
	p.cancel()
	p.running.Wait()
	return p.made.Load()
}
