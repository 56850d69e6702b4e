package fleet

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
	"syscall"

	"github.com/daytwo-dev/daytwo/controllers/internal/truncate"
)

// maxDescribed bounds a description in bytes: it is kept as long as what it tells of lasts.
const maxDescribed = 4 << 10

// describe says what went wrong in words that tell what to look at, and in the same words in each attempt.
func describe(err error) string { return truncate.Message(explain(err), maxDescribed) }

// Describe says why a cluster could not be asked, as the state of a connection does.
func Describe(err error) string { return describe(err) }

func explain(err error) string {
	var unknownAuthority x509.UnknownAuthorityError
	var hostname x509.HostnameError
	var invalid x509.CertificateInvalidError
	var lookup *net.DNSError
	var operation *net.OpError
	switch {
	case errors.As(err, &unknownAuthority):
		return "the server's certificate is not signed by the CA in the kubeconfig; is this the right server, and certificate-authority-data its CA?"
	case errors.As(err, &hostname):
		return "the server's certificate is for another name (" + hostname.Error() + "); set tls-server-name"
	case errors.As(err, &invalid):
		return "the server's certificate is not valid: " + invalid.Error()
	case errors.As(err, &lookup):
		return "the server's name cannot be resolved: " + lookup.Error()
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused: nothing listens on that port"
	case errors.Is(err, context.DeadlineExceeded), isTimeout(err):
		return "no answer in time"
	case errors.As(err, &operation):
		return operation.Op + ": " + operation.Err.Error()
	}
	return err.Error()
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}
