package deadline

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
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
	// Silence bounds how long nothing may come of a watch that has begun, and that asks for bookmarks. Zero is no bound.
	Silence time.Duration
}

// DefaultLimits returns the limits to use outside of tests. A write may wait for an admission webhook, whose
// default timeout is 10 s. An API server ends reads itself after a minute (--request-timeout), and sends a bookmark
// about once a minute (bookmarkFrequency of its watch cache).
func DefaultLimits() Limits {
	return Limits{Write: 15 * time.Second, Read: time.Minute, Watch: 30 * time.Second, Silence: 3 * time.Minute}
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
	limit, silence := r.limitsOf(request)
	ctx, cancel := context.WithCancelCause(request.Context())
	timer := time.AfterFunc(limit, func() { cancel(late(request, "no answer", limit)) })
	response, err := r.inner.RoundTrip(request.WithContext(ctx))
	if err != nil {
		timer.Stop()
		cancel(nil)
		return nil, explain(ctx, err)
	}
	answer := &body{ReadCloser: response.Body, ctx: ctx}
	if silence > 0 {
		timer.Stop()
		timer = time.AfterFunc(silence, func() { cancel(late(request, "no event or bookmark", silence)) })
		answer.came = func() { timer.Reset(silence) }
	}
	answer.end = func() {
		timer.Stop()
		cancel(nil)
	}
	response.Body = answer
	return response, nil
}

func late(request *http.Request, what string, limit time.Duration) error {
	return fmt.Errorf("%s %s: %s within %s: %w", request.Method, request.URL.Path, what, limit, context.DeadlineExceeded)
}

// forever is the silence of a watch that asks for no bookmarks: nothing may have happened.
const forever = math.MaxInt64

// limitsOf returns how long a request may take, or until a watch begins, and how long a watch may be silent; zero for
// what is no watch.
func (r roundTripper) limitsOf(request *http.Request) (limit, silence time.Duration) {
	query := request.URL.Query()
	switch {
	case request.Method != http.MethodGet && request.Method != http.MethodHead:
		return r.limits.Write, 0
	case !isSet(query.Get("watch")):
		return r.limits.Read, 0
	case !isSet(query.Get("allowWatchBookmarks")):
		return r.limits.Watch, forever
	}
	return r.limits.Watch, cmp.Or(r.limits.Silence, forever)
}

func isSet(parameter string) bool { return parameter == "true" || parameter == "1" }

// body is that of an answer; the deadline holds until it is closed.
type body struct {
	io.ReadCloser
	ctx context.Context
	// came is called when something of it has come; nil if that changes nothing.
	came func()
	end  func()
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 && b.came != nil {
		b.came()
	}
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
