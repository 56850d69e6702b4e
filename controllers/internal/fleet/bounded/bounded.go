package bounded

import (
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/daytwo-dev/daytwo/controllers/internal/untrusted"
)

const (
	// maxObject bounds an object, and so an event of a watch, in bytes: twice what etcd takes
	// (--max-request-bytes, 1.5 MiB), since JSON is longer than the protobuf that is stored.
	maxObject = 3 << 20
	// maxPage bounds one page of a list in bytes.
	maxPage = 8 << 20
	// maxDiscovery bounds what a cluster says of the kinds that it serves, in bytes: 2,000 custom kinds take
	// about 2 MiB.
	maxDiscovery = 8 << 20

	// maxValues bounds the values in a JSON body, and maxListValues those in a page of a list. Decoded, a value takes
	// up to 300 bytes. The largest definitions of public operators have about 40,000.
	maxValues     = 100_000
	maxListValues = 200_000
	// maxGroupValues bounds the values in the list of API groups as servers before Kubernetes 1.26 sent it. For each of
	// the groups one more request would follow.
	maxGroupValues = 5_000
)

// SizeLimit of a body: its length, and how many JSON values are in it.
type SizeLimit struct{ Bytes, Values int }

// LimitError tells that an answer is larger than what is read of one.
type LimitError struct {
	// what is too large, as in "the answer to GET /api/v1".
	what  string
	limit SizeLimit
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("%s is larger than %d KiB or holds more than %d values, and is not read any further; "+
		"look at what answers at the cluster's address, and at the size of its objects", e.what, e.limit.Bytes>>10, e.limit.Values)
}

// AnswerError tells what is wrong with what answers, in words of Daytwo's own and with nothing of the answer in them.
type AnswerError string

// Error implements error.
func (e AnswerError) Error() string { return string(e) }

// RoundTripper reads no more of any answer than a real API server sends: whatever answers may be broken, or mean harm.
// Requests ask for JSON without compression, and other answers are refused, since only for that can be told from what
// comes how much memory it will take.
type RoundTripper struct {
	// Inner sends the requests.
	Inner http.RoundTripper
	// Root is the path of the API server's URL.
	Root string
}

// streamedKey marks the context of requests whose answers are read piece by piece, by readers with limits of their own.
type streamedKey struct{}

func streamed(ctx context.Context) context.Context {
	return context.WithValue(ctx, streamedKey{}, true)
}

// RoundTrip implements http.RoundTripper.
func (b RoundTripper) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set("Accept-Encoding", "identity")
	if accept := request.Header.Get("Accept"); accept != "" {
		request.Header.Set("Accept", onlyJSON(accept))
	}
	response, err := b.Inner.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	if err := b.bound(request, response); err != nil {
		_ = response.Body.Close() // Nothing of it is read.
		return nil, err
	}
	return response, nil
}

func (b RoundTripper) bound(request *http.Request, response *http.Response) error {
	name := request.Method + " " + request.URL.Path
	if encoding := response.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return AnswerError(name + ": the answer is compressed though that was not asked for; is this a Kubernetes API server?")
	}
	success := response.StatusCode/100 == 2
	if format, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); strings.HasPrefix(format, "application/") && format != "application/json" {
		if success {
			return AnswerError(name + ": the answer is something else instead of JSON; is this a Kubernetes API server?")
		}
		response.Header.Set("Content-Type", "text/plain") // The status tells enough.
	}
	if success && request.Context().Value(streamedKey{}) != nil {
		return nil
	}
	if response.StatusCode >= http.StatusBadRequest {
		return shorten(name, response)
	}
	limit := b.limitOf(request, response)
	if response.ContentLength > int64(limit.Bytes) {
		return &LimitError{"the answer to " + name, limit}
	}
	response.Body = &boundedBody{ReadCloser: response.Body, request: name, limit: limit, left: limit.Bytes}
	return nil
}

func (b RoundTripper) limitOf(request *http.Request, response *http.Response) SizeLimit {
	path := strings.Split(strings.Trim(strings.TrimPrefix(request.URL.Path, b.Root), "/"), "/")
	switch {
	case request.Method != http.MethodGet:
		return SizeLimit{maxObject, maxValues}
	case request.URL.Query().Has("limit"):
		return SizeLimit{maxPage, maxListValues}
	case len(path) == 1 && (path[0] == "api" || path[0] == "apis") && !strings.Contains(response.Header.Get("Content-Type"), "as=APIGroupDiscoveryList"):
		return SizeLimit{maxDiscovery, maxGroupValues}
	case path[0] == "api" && len(path) <= 2, path[0] == "apis" && len(path) <= 3:
		return SizeLimit{maxDiscovery, maxValues}
	}
	return SizeLimit{maxObject, maxValues}
}

// onlyJSON drops the formats other than JSON from an Accept header.
func onlyJSON(accept string) string {
	var kept []string
	for format := range strings.SplitSeq(accept, ",") {
		if kind, _, _ := strings.Cut(format, ";"); strings.TrimSpace(kind) == "application/json" {
			kept = append(kept, strings.TrimSpace(format))
		}
	}
	if len(kept) == 0 {
		return "application/json"
	}
	return strings.Join(kept, ",")
}

// boundedBody fails when the limit is exceeded.
type boundedBody struct {
	io.ReadCloser
	request string
	limit   SizeLimit
	left    int
	size    untrusted.JSONSize
}

func (b *boundedBody) Read(into []byte) (int, error) {
	// One byte more than the limit tells a body that is too long from one that is as long as it may be.
	n, err := b.ReadCloser.Read(into[:min(len(into), b.left+1)])
	if b.left -= n; b.left < 0 {
		return 0, b.exceeded()
	}
	b.size.ScanAll(into[:n])
	if b.size.Values > b.limit.Values {
		return 0, b.exceeded()
	}
	return n, err
}

func (b *boundedBody) exceeded() error {
	b.left = -1
	_ = b.Close() // Nothing more is read of it.
	return &LimitError{"the answer to " + b.request, b.limit}
}
