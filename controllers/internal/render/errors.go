package render

import (
	"errors"
	"fmt"
)

// Reason says which sort of thing is wrong with a request. It is fit for a condition.
type Reason string

// Reasons of an Error. The same request fails for the same reason again, except that a time
// limit may be kept on a machine that is less busy.
const (
	// TemplateFailed: a template cannot be parsed or executed.
	TemplateFailed Reason = "TemplateFailed"
	// InvalidManifest: a template yields something that is no acceptable object.
	InvalidManifest Reason = "InvalidManifest"
	// TimeLimitExceeded: rendering took longer than Limits.Time.
	TimeLimitExceeded Reason = "TimeLimitExceeded"
	// OutputLimitExceeded: the result is larger than Limits.Output, or has more than MaxObjects objects.
	OutputLimitExceeded Reason = "OutputLimitExceeded"
	// MemoryLimitExceeded: rendering took more memory than Limits.Memory, or recursed too deeply.
	MemoryLimitExceeded Reason = "MemoryLimitExceeded"
)

// Error says what is wrong with a request and what to do about it. It holds no rendered content,
// which may be secret, except names of objects and of keys.
type Error struct {
	Reason  Reason `json:"reason"`
	Message string `json:"message"`
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// ReasonOf returns the reason of a request that was at fault itself. False means another sort of
// error: a cancelled context, ErrClosed, or ErrWorkerLost, all of which the next try may mend.
func ReasonOf(err error) (Reason, bool) {
	var failure *Error
	if !errors.As(err, &failure) {
		return "", false
	}
	return failure.Reason, true
}

var (
	// ErrWorkerLost means that worker processes could not be started, or died for a reason that
	// has nothing to do with the request as far as can be told. Another try may succeed.
	ErrWorkerLost = errors.New("render worker lost")
	// ErrClosed means that the Pool was closed.
	ErrClosed = errors.New("render pool is closed")
)

func templateFailed(format string, args ...any) *Error {
	return &Error{Reason: TemplateFailed, Message: fmt.Sprintf(format, args...)}
}

func invalidManifest(format string, args ...any) *Error {
	return &Error{Reason: InvalidManifest, Message: fmt.Sprintf(format, args...)}
}
