package manifest

import (
	"errors"
	"fmt"
)

// MaxObjects is the number of objects that one request may render to. The inventory of a target
// is one object in etcd, and this many entries are what it can hold.
const MaxObjects = 2000

// Reason says which sort of thing is wrong with a request. It is fit for a condition.
type Reason string

// Reasons of an Error. The same request fails for the same reason again, except that a cluster may answer lookups
// faster.
const (
	// TemplateFailed: a template, or one of a chart's, cannot be parsed or executed.
	TemplateFailed Reason = "TemplateFailed"
	// InvalidManifest: a template yields something that is no acceptable object.
	InvalidManifest Reason = "InvalidManifest"
	// TimeLimitExceeded: rendering took more than Limits.Time.
	TimeLimitExceeded Reason = "TimeLimitExceeded"
	// OutputLimitExceeded: the result is larger than Limits.Output, or has more than MaxObjects objects.
	OutputLimitExceeded Reason = "OutputLimitExceeded"
	// MemoryLimitExceeded: rendering took more memory than Limits.Memory, or recursed too deeply.
	MemoryLimitExceeded Reason = "MemoryLimitExceeded"
	// ChartRefused: what should be a chart is none, is broken, cannot be installed, or is larger or
	// more deeply nested than a chart may be.
	ChartRefused Reason = "ChartRefused"
	// ChartIncompatible: the chart's kubeVersion excludes the cluster's version.
	ChartIncompatible Reason = "ChartIncompatible"
	// ValuesInvalid: a layer of values is no YAML mapping, one of its templates fails, or the
	// merged values are not what the chart's schema allows.
	ValuesInvalid Reason = "ValuesInvalid"
	// ReleaseInvalid: a chart cannot be released under this name, or with this cluster version.
	ReleaseInvalid Reason = "ReleaseInvalid"
	// RecordTooLarge: Helm's record of the release does not fit into a Secret.
	RecordTooLarge Reason = "RecordTooLarge"
)

// Error says what is wrong with a request and what to do about it. It holds no rendered content
// and no values, which may be secret, except names of objects and of keys.
type Error struct {
	Reason  Reason `json:"reason"`
	Message string `json:"message"`
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// ReasonOf returns the reason of a request that was at fault itself. False means another sort of
// error: a cancelled context, a worker or a Pool that is gone, a machine that is too busy, or a lookup that failed, all of
// which the next try may mend.
func ReasonOf(err error) (Reason, bool) {
	var failure *Error
	if !errors.As(err, &failure) {
		return "", false
	}
	return failure.Reason, true
}

// TemplateFailedf is an Error with the reason TemplateFailed.
func TemplateFailedf(format string, args ...any) *Error {
	return &Error{Reason: TemplateFailed, Message: fmt.Sprintf(format, args...)}
}

// InvalidManifestf is an Error with the reason InvalidManifest.
func InvalidManifestf(format string, args ...any) *Error {
	return &Error{Reason: InvalidManifest, Message: fmt.Sprintf(format, args...)}
}

// ChartRefusedf is an Error with the reason ChartRefused.
func ChartRefusedf(format string, args ...any) *Error {
	return &Error{Reason: ChartRefused, Message: fmt.Sprintf(format, args...)}
}

// ValuesInvalidf is an Error with the reason ValuesInvalid.
func ValuesInvalidf(format string, args ...any) *Error {
	return &Error{Reason: ValuesInvalid, Message: fmt.Sprintf(format, args...)}
}

// TooManyObjects is the Error for a request that renders to more than MaxObjects objects.
func TooManyObjects() *Error {
	return &Error{OutputLimitExceeded, fmt.Sprintf(
		"there are more than %d objects: split them over several add-ons, or turn off parts of the chart", MaxObjects)}
}
