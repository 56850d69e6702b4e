package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// tlsServer sends back what it is sent, over TLS.
type tlsServer struct {
	listener net.Listener
	serving  sync.WaitGroup
}

// serveTLS serves with the certificate that read returns at the time of each handshake, as an ingress controller does that
// watches a Secret.
func serveTLS(ctx context.Context, read func(context.Context) (*tls.Certificate, error)) (*tlsServer, error) {
	plain, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	server := &tlsServer{listener: tls.NewListener(plain, &tls.Config{
		MinVersion:     tls.VersionTLS13,
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) { return read(hello.Context()) },
	})}
	server.serving.Go(server.serve)
	return server, nil
}

func (s *tlsServer) serve() {
	for {
		connection, err := s.listener.Accept()
		if err != nil {
			return // It is closed.
		}
		s.serving.Go(func() {
			defer connection.Close() //nolint:errcheck // The client says what went wrong.
			_, _ = io.Copy(connection, connection)
		})
	}
}

// Addr is where it listens.
func (s *tlsServer) Addr() string { return s.listener.Addr().String() }

// Close ends the server, once its clients have closed their connections.
func (s *tlsServer) Close() error {
	err := s.listener.Close()
	s.serving.Wait()
	return err
}

// tlsClient connects to a server, and verifies who it is.
type tlsClient struct {
	address string
	config  *tls.Config
}

// tlsConnection is one that a client has verified.
type tlsConnection struct{ *tls.Conn }

func (c tlsClient) connect(ctx context.Context) (tlsConnection, error) {
	connection, err := (&tls.Dialer{Config: c.config}).DialContext(ctx, "tcp", c.address)
	if err != nil {
		return tlsConnection{}, fmt.Errorf("connect to %s: %w", c.config.ServerName, err)
	}
	return tlsConnection{connection.(*tls.Conn)}, nil
}

// certificate that the server has shown.
func (c tlsConnection) certificate() *x509.Certificate {
	return c.ConnectionState().PeerCertificates[0]
}

// echo sends something, and reads it back.
func (c tlsConnection) echo() error {
	sent, got := []byte("are you there?"), make([]byte, len("are you there?"))
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	if _, err := c.Write(sent); err != nil {
		return fmt.Errorf("write to a connection that is open: %w", err)
	}
	if _, err := io.ReadFull(c, got); err != nil {
		return fmt.Errorf("read from a connection that is open: %w", err)
	}
	if !bytes.Equal(sent, got) {
		return errors.New("a connection that is open returns something else than was sent")
	}
	return nil
}

// awaitOther connects until the server shows another certificate, and returns how often it did. Each connection has to
// succeed.
func (c tlsClient) awaitOther(ctx context.Context, before *x509.Certificate) (handshakes int, err error) {
	var failed error
	err = await(ctx, func(ctx context.Context) (sight, error) {
		connection, err := c.connect(ctx)
		if err != nil {
			failed = err
			return sight{happened: true}, nil // A client would see it: there is nothing to wait for.
		}
		handshakes++
		shown := connection.certificate()
		failed = errors.Join(connection.echo(), connection.Close())
		return sight{happened: failed != nil || !shown.Equal(before), seen: "the certificate from before"}, nil
	})
	return handshakes, errors.Join(err, failed)
}
