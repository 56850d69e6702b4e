package faults

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"sync/atomic"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	certutil "k8s.io/client-go/util/cert"
)

// Server stands where an API server should be. Close must follow.
type Server struct {
	fault     Fault
	address   string
	uncounted bool
	// authority is PEM; empty where no handshake gets that far.
	authority []byte

	connections, requests atomic.Int64

	closers []io.Closer
	closed  chan struct{}
}

// Start starts a server with a fault, on the loopback address.
func Start(fault Fault) (*Server, error) {
	s := &Server{fault: fault, closed: make(chan struct{})}
	if err := fault.start(s); err != nil {
		return nil, errors.Join(fmt.Errorf("start a server with %s: %w", fault.Name, err), s.Close())
	}
	return s, nil
}

// Fault is what is wrong with the server.
func (s *Server) Fault() Fault { return s.fault }

// Attempts is how often somebody tried to reach it: connections, or requests if there were more. It returns
// false where the kernel sees to all of them, and nobody counts.
func (s *Server) Attempts() (int, bool) {
	return int(max(s.connections.Load(), s.requests.Load())), !s.uncounted
}

// Kubeconfig leads to the server.
func (s *Server) Kubeconfig() ([]byte, error) {
	const name = "fault"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: "https://" + s.address, CertificateAuthorityData: s.authority}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: "worthless"}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	return clientcmd.Write(*config)
}

// Close ends the server and its connections.
func (s *Server) Close() error {
	close(s.closed)
	var problems []error
	for _, closer := range s.closers {
		if err := closer.Close(); !errors.Is(err, net.ErrClosed) {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

func (s *Server) listen() (*net.TCPListener, error) {
	listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, err
	}
	s.address = listener.Addr().String()
	return listener, nil
}

// counting counts the connections that a listener accepts.
type counting struct {
	net.Listener
	server *Server
}

func (c counting) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err == nil {
		c.server.connections.Add(1)
	}
	return conn, err
}

// issue makes an authority, and a certificate of it for the loopback address.
func issue() (authority []byte, pair tls.Certificate, err error) {
	certificate, key, err := certutil.GenerateSelfSignedCertKey("127.0.0.1", nil, nil)
	if err != nil {
		return nil, tls.Certificate{}, err
	}
	// The authority's certificate comes after the server's, in the same PEM.
	pair, err = tls.X509KeyPair(certificate, key)
	return certificate, pair, err
}

// quiet drops what a server would log of each client that gave up.
var quiet = log.New(io.Discard, "", 0)
