package faults

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Answer answers in the place of the API server, with a Status as one would send it.
func Answer(code int32, reason metav1.StatusReason, message string) Action {
	return func(e Exchange) { e.answer(status(code, reason, message)) }
}

// Conflict answers 409, as for an object that somebody changed meanwhile.
func Conflict() Action {
	return Answer(http.StatusConflict, metav1.StatusReasonConflict,
		"Operation cannot be fulfilled: the object has been modified; please apply your changes to the latest version and try again")
}

// TooManyRequests answers 429 and says when to try again, in whole seconds.
func TooManyRequests(retryAfter time.Duration) Action {
	seconds := int32(math.Ceil(retryAfter.Seconds()))
	return func(e Exchange) {
		e.Response.Header().Set("Retry-After", strconv.Itoa(int(seconds)))
		answer := status(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "too many requests, please try again later")
		answer.Details = &metav1.StatusDetails{RetryAfterSeconds: seconds}
		e.answer(answer)
	}
}

// InternalError answers 500.
func InternalError() Action {
	return Answer(http.StatusInternalServerError, metav1.StatusReasonInternalError, "Internal error occurred: etcdserver: no leader")
}

// Unavailable answers 503.
func Unavailable() Action {
	return Answer(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, "the server is currently unable to handle the request")
}

// Forbidden answers 403.
func Forbidden() Action {
	return Answer(http.StatusForbidden, metav1.StatusReasonForbidden, "forbidden: the credentials lack this right")
}

// NotFound answers 404 as for a path that an API server does not serve.
func NotFound() Action {
	return Answer(http.StatusNotFound, metav1.StatusReasonNotFound, "the server could not find the requested resource")
}

// Garbage answers 200 with a page for people, as a captive portal or a misled load balancer does.
func Garbage() Action {
	return func(e Exchange) {
		e.Response.Header().Set("Content-Type", "text/html; charset=utf-8")
		e.Response.WriteHeader(http.StatusOK)
		fmt.Fprint(e.Response, "<!DOCTYPE html><html><title>Sign in</title><body>Please sign in to continue.</body></html>")
	}
}

func status(code int32, reason metav1.StatusReason, message string) metav1.Status {
	return metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Code: code, Reason: reason, Message: message,
	}
}

func (e Exchange) answer(answer metav1.Status) {
	e.Response.Header().Set("Content-Type", "application/json")
	e.Response.WriteHeader(int(answer.Code))
	_ = json.NewEncoder(e.Response).Encode(answer) // The client may have gone.
}
