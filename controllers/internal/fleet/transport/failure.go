package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"syscall"

	"github.com/daytwo-dev/daytwo/controllers/internal/fencing"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/bounded"
	"github.com/daytwo-dev/daytwo/internal/netguard"
)

// noFailureTold is all that is told of a failure which is none of those that people can do something about.
const noFailureTold = "the connection failed: what answers there, if anything does, is no Kubernetes API server that speaks HTTP/2 over TLS"

// IsUnexplained is whether Explain has nothing to tell of an error.
func IsUnexplained(err error) bool { return Explain(err) == noFailureTold }

// Explain says why a cluster could not be asked, in the same words in each attempt. Whoever writes a kubeconfig may lead the
// manager to a server that they cannot reach themselves, so nothing of what answers is told: no name or date of a
// certificate, no banner, no body, no address that a name has. Errors that are not known are not passed on.
func Explain(err error) string {
	var refused *netguard.RefusedError
	var unauthorized *UnauthorizedError
	var answer bounded.AnswerError
	var limit *bounded.LimitError
	switch {
	case errors.As(err, &refused):
		return refused.Error() + ": it is of the manager's own machine or link, of a metadata service, of the management cluster, or private where --allow-private-clusters is false"
	case errors.As(err, &unauthorized):
		return unauthorized.Error()
	case errors.As(err, &answer):
		return answer.Error()
	case errors.As(err, &limit):
		return limit.Error()
	}
	for _, known := range []error{ErrOtherCluster, errOtherVersion, errGoneAway, fencing.ErrNotLeader} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	if told := explainCertificate(err); told != "" {
		return told
	}
	return explainConnection(err)
}

// explainCertificate is empty for an error that no certificate is the reason of.
func explainCertificate(err error) string {
	var unknownAuthority x509.UnknownAuthorityError
	var hostname x509.HostnameError
	var invalid x509.CertificateInvalidError
	var verification *tls.CertificateVerificationError
	switch {
	case errors.As(err, &unknownAuthority):
		return "the server's certificate is not signed by the CA in the kubeconfig; is this the right server, and certificate-authority-data its CA?"
	case errors.As(err, &hostname):
		return "the server's certificate is for another name; set tls-server-name to one that it is for"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "the server's certificate is not valid: it has expired, or its time has not come"
	case errors.As(err, &invalid), errors.As(err, &verification):
		return "the server's certificate is not valid"
	}
	return ""
}

// explainConnection tells an error of the network, or one of an unknown kind.
func explainConnection(err error) string {
	var lookup *net.DNSError
	var operation *net.OpError
	switch {
	case errors.As(err, &lookup) && lookup.IsNotFound:
		return "the server's name cannot be resolved: there is no such name"
	case errors.As(err, &lookup):
		return "the server's name cannot be resolved"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused: nothing listens on that port"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "there is no route to the server"
	case errors.Is(err, context.DeadlineExceeded), isTimeout(err):
		return "no answer in time"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "the connection was reset"
	case errors.As(err, &operation) && operation.Op == "remote error": // An alert of TLS, by crypto/tls.
		return "the server refuses the TLS handshake; are the client certificate and the server's name right?"
	case errors.Is(err, net.ErrClosed), errors.Is(err, context.Canceled):
		return "the connection was closed"
	}
	return noFailureTold
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}
