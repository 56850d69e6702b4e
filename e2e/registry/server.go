package registry

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
)

const (
	// repositoryPath is where the chart repository is served.
	repositoryPath = "/repo/"
	// ociNamespace is the part of the OCI registry that holds the charts.
	ociNamespace = "charts"
	// headerPatience is with clients that connect and say nothing.
	headerPatience = 30 * time.Second
)

// Options say how a server differs from the usual.
type Options struct {
	// Username and Password are asked for in every request, unless both are empty.
	Username, Password string
}

// Server is an OCI registry and a chart repository. Its methods may be called at the same time.
type Server struct {
	options     Options
	address     string
	certificate certificate
	server      *http.Server
	served      chan error
	stopWaiting func() bool

	oci        http.Handler
	repository *repository
	requests   *requests
	gate       *gate

	// publishing lets one chart be published at a time, so that registry and repository agree.
	publishing sync.Mutex
}

// Start serves on a free port of the loopback address until ctx ends or Close is called.
func Start(ctx context.Context, options Options) (*Server, error) {
	if (options.Username == "") != (options.Password == "") {
		return nil, errors.New("a registry that asks for credentials needs both: set Username and Password, or neither")
	}
	issued, err := issueCertificate(time.Now())
	if err != nil {
		return nil, fmt.Errorf("make the registry's certificate: %w", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the registry: %w", err)
	}
	quiet := log.New(io.Discard, "", 0)
	s := &Server{
		options:     options,
		address:     listener.Addr().String(),
		certificate: issued,
		served:      make(chan error, 1),
		oci:         registry.New(registry.Logger(quiet)),
		repository:  newRepository(),
		requests:    newRequests(),
		gate:        &gate{},
	}
	s.server = &http.Server{
		Handler:           s.handler(),
		ErrorLog:          quiet, // Clients that don't trust the certificate are somebody's test.
		ReadHeaderTimeout: headerPatience,
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{issued.pair}, MinVersion: tls.VersionTLS12},
	}
	go func() { s.served <- s.server.ServeTLS(listener, "", "") }()
	s.stopWaiting = context.AfterFunc(ctx, func() { _ = s.server.Close() })
	return s, nil
}

// Close ends the server and all its connections, stalled ones as well.
func (s *Server) Close() error {
	s.stopWaiting()
	err := s.server.Close()
	if serveErr := <-s.served; !errors.Is(serveErr, http.ErrServerClosed) {
		err = errors.Join(err, serveErr)
	}
	s.served <- http.ErrServerClosed // For whoever closes it once more.
	return err
}

// OCI returns where charts are in the OCI registry: a chart's reference is this, a slash and its name.
func (s *Server) OCI() string { return "oci://" + s.address + "/" + ociNamespace }

// HTTPS returns the URL of the chart repository.
func (s *Server) HTTPS() string { return "https://" + s.address + repositoryPath }

// CA returns the certificate, as PEM, of the authority that vouches for the server.
func (s *Server) CA() []byte { return s.certificate.authority }

// handler counts only what it lets in, so that a client that first tries without a password counts once.
func (s *Server) handler() http.Handler {
	routes := http.NewServeMux()
	routes.Handle("/v2/", s.oci)
	routes.Handle(repositoryPath, http.StripPrefix(repositoryPath, s.repository))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.options.admit(r) {
			w.Header().Set("WWW-Authenticate", `Basic realm="charts"`)
			http.Error(w, "wrong username or password", http.StatusUnauthorized)
			return
		}
		s.requests.count(r)
		if err := s.gate.pass(r.Context()); err != nil {
			return // Nobody is there any more.
		}
		routes.ServeHTTP(w, r)
	})
}
