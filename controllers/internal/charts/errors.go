package charts

import (
	"errors"
	"fmt"
)

// Reason says which sort of thing is wrong with a source. It is fit for a condition.
type Reason string

// Reasons of an Error.
const (
	// InvalidSource: a field of the Source, or a Secret that it names, cannot be used as it is.
	InvalidSource Reason = "InvalidSource"
	// SourceRefused: the repository, or where it redirects to, is not reached for safety: another
	// scheme than https, an address that is not public, a user in a URL, too many redirects.
	SourceRefused Reason = "SourceRefused"
	// ChartNotFound: the repository has no such chart.
	ChartNotFound Reason = "ChartNotFound"
	// VersionNotFound: the chart has no such version, or none in the range.
	VersionNotFound Reason = "VersionNotFound"
	// AccessDenied: the repository, its token service or its storage answered 401 or 403.
	AccessDenied Reason = "AccessDenied"
	// DigestMismatch: what came is not what the policy, the index or the manifest says.
	DigestMismatch Reason = "DigestMismatch"
	// ArchiveTooLarge: the archive has more than Options.MaxArchive bytes.
	ArchiveTooLarge Reason = "ArchiveTooLarge"
	// InvalidIndex: there is no index.yaml, or it cannot be read or is too large.
	InvalidIndex Reason = "InvalidIndex"
	// NotAChart: the registry holds something else under this name, a container image for instance.
	NotAChart Reason = "NotAChart"
)

// Error says what is wrong with a source, or with what its repository serves, and what to do about
// it. Trying again soon is of no use. Whatever may pass by itself (a timeout, a refused connection,
// an answer of 429 or 5xx) is an error of another type.
type Error struct {
	Reason  Reason
	Message string
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Final is whether only another Source can help: no other answer of the repository would. Without
// it, the repository's owner may mend it (push the version, grant access), so a try now and then
// makes sense.
func (e *Error) Final() bool { return e.Reason == InvalidSource || e.Reason == SourceRefused }

// ReasonOf returns the reason of an Error. False means another sort of error, which the next try
// may mend.
func ReasonOf(err error) (Reason, bool) {
	var failure *Error
	if !errors.As(err, &failure) {
		return "", false
	}
	return failure.Reason, true
}

// ErrClosed means that the AsyncFetcher was closed.
var ErrClosed = errors.New("the chart fetcher is closed")

func errorf(reason Reason, format string, args ...any) *Error {
	return &Error{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

func invalidSource(format string, args ...any) *Error { return errorf(InvalidSource, format, args...) }

func refused(format string, args ...any) *Error { return errorf(SourceRefused, format, args...) }
