package charts

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/daytwo-dev/daytwo/controllers/internal/truncate"
)

// maxQuoted is the most bytes of a server's making in a message.
const maxQuoted = 200

// statusError is an answer other than 200.
type statusError struct {
	code int
	host string
}

// Error leaves the server's own words out: they could repeat the credentials it was sent.
func (e *statusError) Error() string {
	return fmt.Sprintf("%s answered %d %s", quote(e.host), e.code, http.StatusText(e.code))
}

// transientError is one that another try may mend. Its message is fit to be shown; the cause is for errors.Is.
type transientError struct {
	message string
	cause   error
}

func (e *transientError) Error() string { return e.message }

func (e *transientError) Unwrap() error { return e.cause }

// explain turns what went wrong on the way into an *Error, or an error that says what to look at.
func (s *fetch) explain(err error) error {
	var failure *Error
	if errors.As(err, &failure) {
		return s.about(failure)
	}
	status := statusOf(err)
	if errors.Is(err, auth.ErrBasicCredentialNotFound) {
		// The registry asks for basic authentication, and there is nothing to answer with.
		status = &statusError{code: http.StatusUnauthorized, host: s.host}
	}
	if status == nil {
		return s.transient(err)
	}
	if status.code == http.StatusUnauthorized || status.code == http.StatusForbidden {
		return s.denied(status)
	}
	return &transientError{message: s.subject() + ": " + status.Error(), cause: err}
}

func (s *fetch) transient(err error) error {
	return &transientError{message: s.subject() + ": " + s.describe(err), cause: err}
}

// about adds what was being fetched to a refusal from further down.
func (s *fetch) about(failure *Error) *Error {
	if strings.HasPrefix(failure.Message, s.subject()) || failure.Reason == InvalidSource {
		return failure
	}
	return errorf(failure.Reason, "%s: %s", s.subject(), failure.Message)
}

// statusOf finds the answer that an error is about, or nil.
func statusOf(err error) *statusError {
	var ours *statusError
	if errors.As(err, &ours) {
		return ours
	}
	var theirs *errcode.ErrorResponse
	if errors.As(err, &theirs) {
		return &statusError{code: theirs.StatusCode, host: theirs.URL.Host}
	}
	return nil
}

// isGone is whether the answer was 404 or 410.
func isGone(err error) bool {
	status := statusOf(err)
	return status != nil && (status.code == http.StatusNotFound || status.code == http.StatusGone)
}

func (s *fetch) denied(status *statusError) error {
	elsewhere := s.restrictedTransport.withheldFrom()
	if elsewhere == "" && !sameHost(status.host, s.host) {
		elsewhere = status.host
	}
	remedy := "check username and password in the Secret with the credentials, and that they may read this chart"
	switch {
	case s.Credentials == nil:
		remedy = "name a Secret with credentials for the chart's repository; if it needs none, check its name"
	case elsewhere != "":
		remedy = fmt.Sprintf("its token service, or where it keeps its files, is %s, and credentials are sent to %s only: "+
			"use a repository that has both on its own host, or that takes no credentials", quote(elsewhere), s.host)
	case status.code == http.StatusForbidden:
		remedy = "let the user of the credentials read this chart"
	}
	return errorf(AccessDenied, "%s: %s: %s", s.subject(), status, remedy)
}

// describe says what went wrong in words that tell what to look at.
func (s *fetch) describe(err error) string {
	var certificate *x509.UnknownAuthorityError
	var unknownAuthority x509.UnknownAuthorityError
	var hostname x509.HostnameError
	var invalid x509.CertificateInvalidError
	var lookup *net.DNSError
	var operation *net.OpError
	var asked *url.Error
	switch {
	case errors.Is(err, context.Canceled):
		return "the fetch was cancelled"
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("no complete answer within %s", s.fetcher.options.Timeout)
	case errors.As(err, &unknownAuthority), errors.As(err, &certificate):
		return "the server's certificate is not signed by a CA that is trusted for it: is the CA that the source names, if it names one, that of the server?"
	case errors.As(err, &hostname):
		return "the server's certificate is for another name"
	case errors.As(err, &invalid):
		return "the server's certificate is not valid: " + s.clean(invalid.Error())
	case errors.As(err, &lookup):
		return "the name of " + quote(lookup.Name) + " cannot be resolved"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused: nothing listens there"
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return "the server ended the connection in the middle of an answer"
	case isTimeout(err):
		return "no answer in time"
	case errors.As(err, &operation):
		// Without the port on this side, which is another one in every attempt: that would be news each time.
		return operation.Op + ": " + s.clean(operation.Err.Error())
	case errors.As(err, &asked):
		return s.clean(asked.Err.Error())
	}
	return s.clean(err.Error())
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

var urlPattern = regexp.MustCompile(`([a-z]+://[^/\s"?#]*)[^\s"]*`)

// clean takes out of a message what could be secret: paths and queries of URLs, which may be signed,
// and the credentials.
func (s *fetch) clean(message string) string {
	message = urlPattern.ReplaceAllString(message, "$1")
	if c := s.Credentials; c != nil {
		basic := base64.StdEncoding.EncodeToString([]byte(c.Username + ":" + c.Password))
		message = strings.NewReplacer(basic, redacted, c.Password, redacted, c.Username, redacted).Replace(message)
	}
	return truncate.Cut(message, maxQuoted)
}

// quote makes what somebody else wrote fit for a message.
func quote(text string) string { return strconv.Quote(truncate.Cut(text, maxQuoted)) }
