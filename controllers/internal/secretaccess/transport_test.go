package secretaccess

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/go-logr/logr"
)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

func TestRequestsForSecretsOfOtherNamespacesAreNotSent(t *testing.T) {
	access := New([]string{"acme"}, beside, logr.Discard())
	for _, test := range []struct {
		method, path string
		sent         bool
	}{
		{http.MethodGet, "/api/v1/namespaces/acme/secrets", true},
		{http.MethodGet, "/api/v1/namespaces/acme/secrets/one", true},
		{http.MethodPost, "/api/v1/namespaces/acme-clusters/secrets", true},
		{http.MethodGet, "/below/api/v1/namespaces/acme/secrets", true},
		{http.MethodGet, "/api/v1/secrets", false},
		{http.MethodGet, "/below/api/v1/secrets", false},
		{http.MethodGet, "/api/v1/namespaces/kube-system/secrets", false},
		{http.MethodGet, "/api/v1/namespaces/kube-system/secrets/one", false},
		{http.MethodPatch, "/api/v1/namespaces/kube-system/secrets/one", false},
		{http.MethodDelete, "/api/v1/namespaces/kube-system/secrets/one", false},
		{http.MethodGet, "/api/v1/namespaces/kube-system/configmaps/secrets", true},
		{http.MethodGet, "/api/v1/namespaces/secrets", true},
		{http.MethodGet, "/apis/addons.daytwo.dev/v1alpha1/saasaddons", true},
	} {
		sent := 0
		through := access.RoundTripper(roundTripper(func(*http.Request) (*http.Response, error) {
			sent++
			return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
		}))
		body := &closing{Reader: strings.NewReader("{}")}
		request, err := http.NewRequestWithContext(t.Context(), test.method, "https://cluster"+test.path, body)
		must(t, err)
		response, err := through.RoundTrip(request)
		if err == nil {
			must(t, response.Body.Close())
		}
		if (sent == 1) != test.sent || (err == nil) != test.sent || err != nil && Of(err) == nil {
			t.Errorf("%s %s is sent %d times, and gives %v", test.method, test.path, sent, err)
		}
		if err != nil && !body.closed {
			t.Errorf("%s %s: its body is not closed", test.method, test.path)
		}
	}
}

func TestAForbiddenReadSaysWhatIsMissing(t *testing.T) {
	access := New([]string{"acme"}, beside, logr.Discard())
	broken := errors.New("broken")
	for _, test := range []struct {
		method, path string
		status       int
		err          error
		denied       bool
	}{
		{http.MethodGet, "/api/v1/namespaces/acme/secrets", http.StatusForbidden, nil, true},
		{http.MethodGet, "/api/v1/namespaces/acme/secrets/one", http.StatusForbidden, nil, true},
		{http.MethodGet, "/api/v1/namespaces/acme/secrets", http.StatusOK, nil, false},
		{http.MethodGet, "/api/v1/namespaces/acme/secrets", http.StatusUnauthorized, nil, false},
		{http.MethodGet, "/api/v1/namespaces/acme/configmaps", http.StatusForbidden, nil, false},
		// A quota or a policy has words of its own.
		{http.MethodPost, "/api/v1/namespaces/acme/secrets", http.StatusForbidden, nil, false},
		{http.MethodGet, "/api/v1/namespaces/acme/secrets", 0, broken, false},
	} {
		body := &closing{Reader: strings.NewReader("no")}
		through := access.RoundTripper(roundTripper(func(*http.Request) (*http.Response, error) {
			if test.err != nil {
				return nil, test.err
			}
			return &http.Response{StatusCode: test.status, Body: body}, nil
		}))
		request, err := http.NewRequestWithContext(t.Context(), test.method, "https://cluster"+test.path, nil)
		must(t, err)
		response, err := through.RoundTrip(request)
		denied := Of(err)
		if (denied != nil) != test.denied || denied != nil && *denied != (Error{"acme", true}) || test.err != nil && !errors.Is(err, test.err) {
			t.Errorf("%s %s: %d gives %v", test.method, test.path, test.status, err)
		}
		if body.closed != test.denied {
			t.Errorf("%s %s: the answer is closed: %t", test.method, test.path, body.closed)
		}
		if err == nil {
			must(t, response.Body.Close())
		}
	}
}

type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error {
	c.closed = true
	return nil
}
