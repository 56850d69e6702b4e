package bounded

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"golang.org/x/time/rate"
)

type roundTripFunc func(*http.Request) (*http.Response, error)

func (f roundTripFunc) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// slow is a pace at which everything that comes after the burst takes an hour.
func slow() *Pace {
	hourly := func(burst int) *rate.Limiter { return rate.NewLimiter(rate.Every(time.Hour), burst) }
	return &Pace{requests: hourly(3), bytes: hourly(100), lists: hourly(2)}
}

func TestRequestsAndBytesOfAClusterArePaced(t *testing.T) {
	for name, c := range map[string]struct {
		bytes, served int
		want          string
	}{
		"requests": {1, 3, "more than 0.000277"},
		"bytes":    {40, 2, "sends more than"},
	} {
		t.Run(name, func(t *testing.T) {
			through := PacedRoundTripper{Pace: slow(), Inner: roundTripFunc(func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(strings.Repeat("x", c.bytes)))}, nil
			})}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			ask := func() error {
				response, err := through.RoundTrip(httptest.NewRequestWithContext(ctx, http.MethodGet, "/api/v1/pods", nil))
				if err != nil {
					return err
				}
				_, err = io.ReadAll(response.Body)
				return err
			}
			for range c.served {
				if err := ask(); err != nil {
					t.Fatalf("within the burst: %v", err)
				}
			}
			if err := ask(); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "GET /api/v1/pods") {
				t.Errorf("got %v, want an error that says %q and names the request", err, c.want)
			}
		})
	}
}

func TestListsArePaced(t *testing.T) {
	pace := slow()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for range 2 {
		if err := pace.AwaitList(ctx); err != nil {
			t.Fatalf("within the burst: %v", err)
		}
	}
	if err := pace.AwaitList(ctx); err == nil || !strings.Contains(err.Error(), "listed more often") {
		t.Errorf("after the burst: %v", err)
	}
}
