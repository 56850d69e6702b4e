package faults

import (
	"crypto/tls"
	"net/http"
	"time"
)

// Fault is one reason why a cluster cannot be reached.
type Fault struct {
	// Name of the fault, fit for an object's name.
	Name  string
	start func(*Server) error
}

const (
	// retryAfter, in seconds, tempts to try again sooner than a cluster is tried that does not answer.
	retryAfter = "1"
	// dripEvery is much less than any deadline, so that the connection is never idle.
	dripEvery = 100 * time.Millisecond
)

// All returns every fault there is.
func All() []Fault {
	return []Fault{
		{"closed-port", (*Server).closePort},
		{"swallowed-packets", (*Server).swallow},
		{"silence", func(s *Server) error { return s.accept(s.drop) }},
		{"endless-handshake", func(s *Server) error { return s.accept(s.drip) }},
		{"too-many-requests", func(s *Server) error { return s.answer(tooManyRequests) }},
		{"internal-errors", func(s *Server) error { return s.answer(internalError) }},
		{"slow-answers", func(s *Server) error { return s.answer(s.hold) }},
		{"wrong-authority", (*Server).misleadTrust},
	}
}

func tooManyRequests(response http.ResponseWriter, _ *http.Request) {
	response.Header().Set("Retry-After", retryAfter)
	http.Error(response, "too many requests, please try again later", http.StatusTooManyRequests)
}

func internalError(response http.ResponseWriter, _ *http.Request) {
	http.Error(response, "etcdserver: no leader", http.StatusInternalServerError)
}

// hold answers when nobody waits any more. The connection itself stays alive, and answers pings.
func (s *Server) hold(_ http.ResponseWriter, request *http.Request) {
	select {
	case <-request.Context().Done():
	case <-s.closed:
	}
}

// misleadTrust has a certificate that the kubeconfig's authority did not sign. Behind it all would be well.
func (s *Server) misleadTrust() error {
	err := s.answer(func(response http.ResponseWriter, _ *http.Request) {
		response.Header().Set("Content-Type", "application/json")
		_, _ = response.Write([]byte(`{"kind":"Namespace","apiVersion":"v1","metadata":{"uid":"nobody"}}`)) // The client may have gone.
	})
	if err != nil {
		return err
	}
	s.authority, _, err = issue()
	return err
}

// answer serves HTTP/2 over TLS, as an API server does.
func (s *Server) answer(handle http.HandlerFunc) error {
	authority, pair, err := issue()
	if err != nil {
		return err
	}
	listener, err := s.listen()
	if err != nil {
		return err
	}
	s.authority = authority
	server := &http.Server{
		Handler: http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
			s.requests.Add(1)
			handle(response, request)
		}),
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12},
		ReadHeaderTimeout: time.Minute,
		ErrorLog:          quiet,
	}
	s.closers = append(s.closers, server)
	go func() { _ = server.ServeTLS(counting{listener, s}, "", "") }() // It ends with Close.
	return nil
}
