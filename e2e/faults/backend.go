package faults

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"

	"k8s.io/client-go/rest"
)

// backend is an API server behind the proxy.
type backend struct {
	forward *httputil.ReverseProxy
	// ended cuts off what is under way.
	ended context.Context
	end   context.CancelFunc
}

func newBackend(upstream *rest.Config) (*backend, error) {
	transport, err := rest.TransportFor(upstream)
	if err != nil {
		return nil, fmt.Errorf("reach %s: %w", upstream.Host, err)
	}
	target, err := url.Parse(upstream.Host)
	if err != nil {
		return nil, fmt.Errorf("reach %s: %w", upstream.Host, err)
	}
	b := &backend{forward: &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			// The transport adds the proxy's own credentials.
			r.Out.Header.Del("Authorization")
		},
		Transport: transport,
		// Watches are to be seen at once.
		FlushInterval: -1,
		ErrorLog:      quiet,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, "the server behind the proxy: "+err.Error(), http.StatusBadGateway)
		},
	}}
	b.ended, b.end = context.WithCancel(context.Background())
	return b, nil
}

func (b *backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(b.ended, cancel)()
	b.forward.ServeHTTP(w, r.WithContext(ctx))
}
