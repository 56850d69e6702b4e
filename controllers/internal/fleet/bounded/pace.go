package bounded

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"golang.org/x/time/rate"
	"k8s.io/utils/clock"
)

// What one cluster may cost, in a burst and then each second. A healthy one meets none of this: the largest add-on has
// 2,000 objects, which take two requests and some 10 KiB each, and the kinds of all add-ons together are some tens, which
// are listed when the cluster is connected. A page of a list, at most 8 MiB, is read within its deadline at any time.
const (
	requestRate, requestBurst = 200, 10_000
	byteRate, byteBurst       = 8 << 20, 64 << 20
	listRate, listBurst       = 5, 200
)

// Pace limits what a cluster may cost. It belongs to the connection, so that a server cannot begin anew by closing that.
type Pace struct {
	requests, bytes, lists *rate.Limiter
	// Large is the cluster's turn.
	Large *Turn
}

// NewPace returns the pace of a cluster that has sent nothing yet.
func NewPace(clock clock.PassiveClock) *Pace {
	return &Pace{
		requests: rate.NewLimiter(requestRate, requestBurst),
		bytes:    rate.NewLimiter(byteRate, byteBurst),
		lists:    rate.NewLimiter(listRate, listBurst),
		Large:    newTurn(clock),
	}
}

// AwaitList waits until a kind may be listed once more.
func (p *Pace) AwaitList(ctx context.Context) error {
	if err := p.lists.Wait(ctx); err != nil {
		return fmt.Errorf("the cluster's kinds are listed more often than %v times a second: %w", p.lists.Limit(), err)
	}
	return nil
}

// PacedRoundTripper lets requests and what is read of their answers wait for their turn.
type PacedRoundTripper struct {
	// Inner sends the requests.
	Inner http.RoundTripper
	// Pace of the cluster.
	Pace *Pace
}

// RoundTrip implements http.RoundTripper.
func (p PacedRoundTripper) RoundTrip(request *http.Request) (*http.Response, error) {
	if err := p.Pace.requests.Wait(request.Context()); err != nil {
		return nil, fmt.Errorf("%s %s: the cluster gets more than %v requests a second: %w", request.Method, request.URL.Path, p.Pace.requests.Limit(), err)
	}
	response, err := p.Inner.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	response.Body = &pacedBody{ReadCloser: response.Body, request: request, bytes: p.Pace.bytes, part: Share{Turn: p.Pace.Large}}
	return response, nil
}

type pacedBody struct {
	io.ReadCloser
	request *http.Request
	bytes   *rate.Limiter
	part    Share
	read    int
}

// Read implements io.Reader. What was read counts before it is handed on. Who reads an answer piece by piece waits for
// turns by itself.
func (b *pacedBody) Read(into []byte) (int, error) {
	ctx := b.request.Context()
	if b.read > largeRead && ctx.Value(streamedKey{}) == nil {
		if err := b.part.Take(ctx.Done()); err != nil {
			return 0, fmt.Errorf("%s %s: %w", b.request.Method, b.request.URL.Path, err)
		}
	}
	n, err := b.ReadCloser.Read(into[:min(len(into), b.bytes.Burst())])
	if b.read += n; n == 0 {
		if err != nil {
			b.part.end(err)
		}
		return 0, err
	}
	if wait := b.bytes.WaitN(ctx, n); wait != nil {
		return 0, fmt.Errorf("%s %s: the cluster sends more than %d KiB a second: %w", b.request.Method, b.request.URL.Path, int(b.bytes.Limit())>>10, wait)
	}
	return n, err
}

// Close implements io.Closer.
func (b *pacedBody) Close() error {
	b.part.Give()
	return b.ReadCloser.Close()
}
