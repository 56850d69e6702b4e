package secretaccess

import (
	"net/http"
	"strings"
)

// RoundTripper sends requests for Secrets to the management cluster for the namespaces of the access alone, whatever they do. A
// read that is forbidden there gives an *Error.
func (a *Access) RoundTripper(inner http.RoundTripper) http.RoundTripper {
	if a == nil {
		return inner
	}
	return &transport{RoundTripper: inner, access: a}
}

type transport struct {
	http.RoundTripper
	access *Access
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	namespace, secrets := namespaceOfSecrets(request.URL.Path)
	if !secrets {
		return t.RoundTripper.RoundTrip(request)
	}
	if !t.access.namespaces.Has(namespace) {
		if request.Body != nil {
			_ = request.Body.Close()
		}
		return nil, &Error{Namespace: namespace}
	}
	response, err := t.RoundTripper.RoundTrip(request)
	// A write may be forbidden by a quota or a policy, which says so itself.
	if err != nil || response.StatusCode != http.StatusForbidden || request.Method != http.MethodGet {
		return response, err
	}
	_ = response.Body.Close()
	return nil, &Error{Namespace: namespace, Listed: true}
}

// WrappedRoundTripper lets client-go find the transport inside.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.RoundTripper }

// namespaceOfSecrets finds out whether a path is that of Secrets, and of which namespace; empty for all. The API server may be below
// a path.
func namespaceOfSecrets(path string) (namespace string, secrets bool) {
	_, resource, core := strings.Cut(path, "/api/v1/")
	if !core {
		return "", false
	}
	parts := strings.Split(resource, "/")
	if len(parts) >= 3 && parts[0] == "namespaces" {
		return parts[1], parts[2] == "secrets"
	}
	return "", parts[0] == "secrets"
}
