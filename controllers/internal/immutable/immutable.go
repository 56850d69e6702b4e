// Package immutable reads which fields an API server refuses to change, and takes the dumps of structs out of its words. It
// is pure.
package immutable

import (
	"errors"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// signs are how API servers say that a field never changes. They have no other sign of that.
var signs = []string{
	"field is immutable", "is immutable after creation", "may not change once set", "cannot change roleRef", "immutable once set", "may not be changed",
}

// forbidden begins the list of the fields of a StatefulSet that may change.
const forbidden = "updates to "

// Fields are those that an error says never change, as in "spec.template"; none for another error.
func Fields(err error) []string {
	var fields []string
	for _, cause := range causes(err) {
		if isImmutable(cause.Message) && !slices.Contains(fields, cause.Field) {
			fields = append(fields, cause.Field)
		}
	}
	return fields
}

func causes(err error) []metav1.StatusCause {
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	return status.Status().Details.Causes
}

func isImmutable(message string) bool {
	if at := strings.Index(message, forbidden); at >= 0 && strings.Contains(message[at:], "forbidden") {
		return true
	}
	return slices.ContainsFunc(signs, func(sign string) bool { return strings.Contains(message, sign) })
}

// Words are what an API server says is wrong with an object, field by field, without the values that Go printed; empty for an
// error that names no field.
func Words(err error) string {
	var words []string
	for _, cause := range causes(err) {
		if cause.Field == "" {
			return ""
		}
		words = append(words, cause.Field+": "+withoutDump(cause.Message))
	}
	return strings.Join(words, "; ")
}

// invalidValue begins the message of a field that has a bad value. What follows is the value, as Go prints it, and after
// it the reason.
const invalidValue = "Invalid value: "

// withoutDump is the reason alone where the value is a struct, a map or a list. Other values are told.
func withoutDump(message string) string {
	value, found := strings.CutPrefix(message, invalidValue)
	if !found {
		return firstLine(message)
	}
	end := endOfValue(value)
	if end < 0 {
		return firstLine(message)
	}
	return firstLine(strings.TrimPrefix(value[end:], ": "))
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// endOfValue is where a value ends that Go printed with its braces; -1 for one without.
func endOfValue(value string) int {
	depth, quoted := 0, false
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 && (i+1 == len(value) || value[i+1] == ':') {
				return i + 1
			}
		case c == ':' && depth == 0:
			return -1
		}
	}
	return -1
}
