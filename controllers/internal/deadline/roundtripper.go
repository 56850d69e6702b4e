package deadline

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Limits of requests to an API server.
type Limits struct {
	// Write bounds a request that is not a read, from its start to the end of its answer.
	Write time.Duration
	// Read bounds a get or a list in the same way.
	Read time.Duration
	// Watch bounds how long the answer to a watch may take to begin. The watch itself goes on.
	Watch time.Duration
}

// DefaultLimits returns the limits to use outside of tests. A write may wait for an admission webhook, whose
// default timeout is 10 s. An API server ends reads itself after a minute (--request-timeout).
func DefaultLimits() Limits {
	return Limits{Write: 15 * time.Second, Read: time.Minute, Watch: 30 * time.Second}
}

// RoundTripper ends requests that take longer than the limits. The errors are context.DeadlineExceeded, and name
// the request.
func RoundTripper(inner http.RoundTripper, limits Limits) http.RoundTripper {
	return roundTripper{inner: inner, limits: limits}
}

type roundTripper struct {
	inner  http.RoundTripper
	limits Limits
}

// WrappedRoundTripper returns the inner round tripper, for client-go's utilities.
func (r roundTripper) WrappedRoundTripper() http.RoundTripper { return r.inner }

// RoundTrip implements http.RoundTripper.
func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) {
	limit, watch := r.limitOf(request)
	ctx, cancel := context.WithCancelCause(request.Context())
	timer := time.AfterFunc(limit, func() {
		cancel(fmt.Errorf("%s %s: no answer within %s: %w", request.Method, request.URL.Path, limit, context.DeadlineExceeded))
	})
	response, err := r.inner.RoundTrip(request.WithContext(ctx))
	if err != nil {
		timer.Stop()
		cancel(nil)
		return nil, explain(ctx, err)
	}
	if watch {
		timer.Stop()
	}
	response.Body = &body{ReadCloser: response.Body, ctx: ctx, end: func() {
		timer.Stop()
		cancel(nil)
	}}
	return response, nil
}

func (r roundTripper) limitOf(request *http.Request) (limit time.Duration, watch bool) {
	query := request.URL.Query()
	switch {
	case request.Method != http.MethodGet && request.Method != http.MethodHead:
		return r.limits.Write, false
	case query.Get("watch") == "true" || query.Get("watch") == "1":
		return r.limits.Watch, true
	}
	return r.limits.Read, false
}

// body is that of an answer; the deadline holds until it is closed.
type body struct {
	io.ReadCloser
	ctx context.Context
	end func()
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = explain(b.ctx, err)
	}
	return n, err
}

// Close implements io.Closer.
func (b *body) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}

// explain prefers the deadline, if that is what ended a request, to what came of it further down.
func explain(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	if cause := context.Cause(ctx); cause != ctx.Err() {
		return cause
	}
	return err
}
