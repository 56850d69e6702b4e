package tlsproxy

import (
	"context"
	"net/http"
)

type backendKey struct{}

// withBackend keeps the backend of a request: it is chosen once, when the request comes.
func withBackend(ctx context.Context, to *backend) context.Context {
	return context.WithValue(ctx, backendKey{}, to)
}

func backendOf(request *http.Request) *backend {
	return request.Context().Value(backendKey{}).(*backend) // The handler has put it there.
}
