// Package probe asks a TLS server which certificate it serves.
//
// The handshake verifies nothing: what is asked is which certificate is served, not whether it is good, and a server that serves
// an expired one, or one of another authority, is what a probe is there to find. Nothing is sent to the server beside the
// handshake, and nothing that it says is believed for more than this one question, so nothing rests on who it is.
package probe

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/daytwo-dev/daytwo/internal/netguard"
)

const (
	// Timeout of a probe: connecting and the handshake together.
	Timeout = 5 * time.Second
	// maxSerial is how much of a serial number is told, in hexadecimal digits. RFC 5280 has at most 40.
	maxSerial = 64
	// maxRead is how much is read of what the server says, in bytes. A handshake with the longest chain that crypto/tls takes is
	// below that.
	maxRead = 512 << 10
)

// Served is the certificate that a server serves.
type Served struct {
	// Fingerprint is its SHA-256, SerialNumber its serial number, both in hexadecimal.
	Fingerprint, SerialNumber string
	NotAfter                  time.Time
}

// Dial connects to a host and port, as the DialContext of a net.Dialer does.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// Ask returns the certificate that a server serves for a name; it is asked for none, if the name is empty. Dial connects to the
// address of the server; where that is reached otherwise, the address is what it is called.
func Ask(ctx context.Context, dial Dial, address, name string) (Served, error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	conn, err := dial(ctx, "tcp", address)
	if err != nil {
		return Served{}, explain(address, err)
	}
	defer func() { _ = conn.Close() }() // Nothing more is asked.
	return handshake(ctx, conn, address, name)
}

// handshake returns the certificate of the server also where it wants one of ours, which it does not get.
func handshake(ctx context.Context, conn net.Conn, address, name string) (Served, error) {
	var leaf *x509.Certificate
	secure := tls.Client(&limited{Conn: conn, left: maxRead}, &tls.Config{
		ServerName: name, MinVersion: tls.VersionTLS10,
		InsecureSkipVerify: true, //nolint:gosec // The certificate is compared by whoever asked: see the package.
		VerifyConnection: func(state tls.ConnectionState) error {
			if len(state.PeerCertificates) > 0 {
				leaf = state.PeerCertificates[0]
			}
			return nil
		},
	})
	err := secure.HandshakeContext(ctx)
	switch {
	case leaf != nil:
		digest := sha256.Sum256(leaf.Raw)
		serial := leaf.SerialNumber.Text(16)
		return Served{Fingerprint: hex.EncodeToString(digest[:]), SerialNumber: serial[:min(len(serial), maxSerial)], NotAfter: leaf.NotAfter}, nil
	case err != nil:
		return Served{}, explain(address, err)
	}
	return Served{}, fmt.Errorf("%s serves no certificate", address)
}

// explain leaves out of an error what differs in each attempt, and what the manager's DNS server knows.
func explain(address string, err error) error {
	var refused *netguard.RefusedError
	var unresolved *net.DNSError
	switch {
	case errors.As(err, &refused):
		return fmt.Errorf("%w: it is private; the provider can permit that with --allow-private-probes", refused)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s did not answer within %s", address, Timeout)
	case errors.As(err, &unresolved):
		return fmt.Errorf("the host of %s is not found", address)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%s: %w; the kubeconfig of the cluster needs the verbs get and create on pods/portforward, list on pods, and for a service get on services and list on endpointslices of discovery.k8s.io", address, err)
	}
	return fmt.Errorf("%s: %w", address, err)
}

// limited is a connection of which only so much is read.
type limited struct {
	net.Conn

	left int
}

func (l *limited) Read(into []byte) (int, error) {
	if l.left <= 0 {
		return 0, fmt.Errorf("the server sends more than %d KiB in a handshake", maxRead>>10)
	}
	n, err := l.Conn.Read(into[:min(len(into), l.left)])
	l.left -= n
	return n, err
}
