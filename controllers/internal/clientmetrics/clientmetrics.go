// Package clientmetrics keeps the labels of client-go's metrics in fixed sets: codes are classes, methods are those of HTTP,
// and hosts are left out. Otherwise each API server that a customer names, and each code that it makes up, would be a series
// for as long as the manager lives.
package clientmetrics

import (
	"context"
	"net/http"
	"slices"
	"sync"

	"k8s.io/client-go/tools/metrics"
)

// Values of labels.
const (
	// noHost is a label that is not there, as Prometheus sees it.
	noHost = ""
	// noAnswer is client-go's code of a request that had none.
	noAnswer = "<error>"
	other    = "other"
)

var methods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
}

var once sync.Once

// Bound does so for the metrics of this process. Call it before the first client is made. controller-runtime registers one
// metric of client-go's, and this bounds those of any other registration as well.
func Bound() {
	once.Do(func() {
		metrics.RequestResult = results{metrics.RequestResult}
		metrics.RequestRetry = retries{metrics.RequestRetry}
		metrics.RequestSize, metrics.ResponseSize = sizes{metrics.RequestSize}, sizes{metrics.ResponseSize}
	})
}

type results struct{ inner metrics.ResultMetric }

// Increment implements metrics.ResultMetric.
func (r results) Increment(ctx context.Context, code, method, _ string) {
	r.inner.Increment(ctx, class(code), fixed(method), noHost)
}

type retries struct{ inner metrics.RetryMetric }

// IncrementRetry implements metrics.RetryMetric.
func (r retries) IncrementRetry(ctx context.Context, code, method, _ string) {
	r.inner.IncrementRetry(ctx, class(code), fixed(method), noHost)
}

type sizes struct{ inner metrics.SizeMetric }

// Observe implements metrics.SizeMetric.
func (s sizes) Observe(ctx context.Context, verb, _ string, size float64) {
	s.inner.Observe(ctx, fixed(verb), noHost, size)
}

// class of a status code, as in 2xx.
func class(code string) string {
	switch {
	case code == noAnswer:
		return noAnswer
	case len(code) == 3 && code[0] >= '1' && code[0] <= '5':
		return code[:1] + "xx"
	}
	return other
}

func fixed(method string) string {
	if slices.Contains(methods, method) {
		return method
	}
	return other
}
