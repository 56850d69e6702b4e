package fleet

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/transport"
)

// Metrics of the connections.
type Metrics struct {
	connected *prometheus.GaugeVec
	lastSeen  *prometheus.GaugeVec
	requests  *prometheus.CounterVec
}

// NewMetrics makes the metrics and registers them.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	metrics := &Metrics{
		connected: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "daytwo_cluster_connected",
			Help: "1 while the cluster answers, 0 otherwise.",
		}, []string{"namespace", "cluster"}),
		lastSeen: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "daytwo_cluster_last_seen_timestamp_seconds",
			Help: "When the cluster last answered a probe, in seconds since 1970.",
		}, []string{"namespace", "cluster"}),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "daytwo_remote_requests_total",
			Help: "Requests to workload clusters, by verb and class of the HTTP status code, as in 2xx; 0 is no answer.",
		}, []string{"verb", "code"}),
	}
	registry.MustRegister(metrics.connected, metrics.lastSeen, metrics.requests)
	return metrics
}

// count counts what passes through a round tripper.
func (m *Metrics) count(inner http.RoundTripper) http.RoundTripper {
	return counter{inner: inner, requests: m.requests}
}

type counter struct {
	inner    http.RoundTripper
	requests *prometheus.CounterVec
}

func (c counter) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := c.inner.RoundTrip(request)
	code := 0
	if response != nil {
		code = response.StatusCode
	}
	c.requests.WithLabelValues(verb(request), class(code)).Inc()
	return response, err
}

// class of a status code. A server may make up hundreds of codes, each of which would be a series of its own.
func class(code int) string {
	switch {
	case code == 0:
		return "0"
	case code < 100 || code > 599:
		return "other"
	}
	return strconv.Itoa(code/100) + "xx"
}

func verb(request *http.Request) string {
	switch {
	case request.Method != http.MethodGet:
		return strings.ToLower(request.Method)
	case request.URL.Query().Get("watch") != "":
		return "watch"
	case request.URL.Path == transport.IdentityPath:
		return "probe"
	}
	return "get"
}

func (m *Metrics) seen(key types.NamespacedName, state State) {
	connected := 0.0
	if state.Phase == Connected {
		connected = 1
	}
	m.connected.WithLabelValues(key.Namespace, key.Name).Set(connected)
	if !state.LastSeen.IsZero() {
		m.lastSeen.WithLabelValues(key.Namespace, key.Name).Set(float64(state.LastSeen.UnixMilli()) / 1000)
	}
}

// disconnected tells that a connection was given up, with its access or for good.
func (m *Metrics) disconnected(key types.NamespacedName) {
	m.connected.WithLabelValues(key.Namespace, key.Name).Set(0)
}

func (m *Metrics) forget(key types.NamespacedName) {
	m.connected.DeleteLabelValues(key.Namespace, key.Name)
	m.lastSeen.DeleteLabelValues(key.Namespace, key.Name)
}
