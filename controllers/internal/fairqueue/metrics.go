package fairqueue

import (
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// refresh is how often the metrics of work under way are brought up to date, as other work queues do it.
const refresh = 500 * time.Millisecond

// queueMetrics are those that controller-runtime has of its work queues, under the same names.
type queueMetrics[K comparable] struct {
	depth                        *prometheus.GaugeVec
	adds, retries                prometheus.Counter
	latency, duration            prometheus.Observer
	unfinished, longestProcessor prometheus.Gauge

	stopped chan struct{}
	mu      sync.Mutex
	// added is when keys were added that wait, begun when workers began with theirs.
	added, begun map[K]time.Time
}

func newQueueMetrics[K comparable](controller string) *queueMetrics[K] {
	labels, values := []string{"name", "controller"}, []string{controller, controller}
	of := func(name, help string) prometheus.Opts {
		return prometheus.Opts{Subsystem: metrics.WorkQueueSubsystem, Name: name, Help: help}
	}
	histogram := func(name, help string) prometheus.Observer {
		options := prometheus.HistogramOpts{
			Subsystem: metrics.WorkQueueSubsystem, Name: name, Help: help, Buckets: prometheus.ExponentialBuckets(10e-9, 10, 12),
		}
		return registered(prometheus.NewHistogramVec(options, labels)).WithLabelValues(values...)
	}
	counter := func(name, help string) prometheus.Counter {
		return registered(prometheus.NewCounterVec(prometheus.CounterOpts(of(name, help)), labels)).WithLabelValues(values...)
	}
	gauge := func(name, help string) prometheus.Gauge {
		return registered(prometheus.NewGaugeVec(prometheus.GaugeOpts(of(name, help)), labels)).WithLabelValues(values...)
	}
	depth := registered(prometheus.NewGaugeVec(prometheus.GaugeOpts(of(metrics.DepthKey, helpDepth)), append(labels, "priority")))
	return &queueMetrics[K]{
		depth: depth.MustCurryWith(prometheus.Labels{"name": controller, "controller": controller}),
		adds:  counter(metrics.AddsKey, helpAdds), retries: counter(metrics.RetriesKey, helpRetries),
		latency: histogram(metrics.QueueLatencyKey, helpLatency), duration: histogram(metrics.WorkDurationKey, helpDuration),
		unfinished: gauge(metrics.UnfinishedWorkKey, helpUnfinished), longestProcessor: gauge(metrics.LongestRunningProcessorKey, helpLongest),
		stopped: make(chan struct{}), added: map[K]time.Time{}, begun: map[K]time.Time{},
	}
}

// What controller-runtime says of its metrics. The registry takes a metric for the same only if it says the same.
const (
	helpDepth      = "Current depth of workqueue by workqueue and priority"
	helpAdds       = "Total number of adds handled by workqueue"
	helpLatency    = "How long in seconds an item stays in workqueue before being requested"
	helpDuration   = "How long in seconds processing an item from workqueue takes."
	helpUnfinished = "How many seconds of work has been done that is in progress and hasn't been observed by work_duration. Large " +
		"values indicate stuck threads. One can deduce the number of stuck threads by observing the rate at which this increases."
	helpLongest = "How many seconds has the longest running processor for workqueue been running."
	helpRetries = "Total number of items added to the workqueue with a non-zero delay (rate-limited requeues, explicit RequeueAfter or AddAfter calls)"
)

// registered returns the metric of controller-runtime's registry, which is there already.
func registered[C prometheus.Collector](collector C) C {
	var already prometheus.AlreadyRegisteredError
	if err := metrics.Registry.Register(collector); errors.As(err, &already) {
		if existing, same := already.ExistingCollector.(C); same {
			return existing
		}
	}
	return collector
}

func (m *queueMetrics[K]) depthOf(priority int) prometheus.Gauge {
	return m.depth.WithLabelValues(strconv.Itoa(priority))
}

// add: a key waits for a worker.
func (m *queueMetrics[K]) add(key K, priority int) {
	m.adds.Inc()
	m.depthOf(priority).Inc()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.added[key] = time.Now()
}

// raise: a key that waits has another priority.
func (m *queueMetrics[K]) raise(from, to int) {
	m.depthOf(from).Dec()
	m.depthOf(to).Inc()
}

// get: a worker has a key.
func (m *queueMetrics[K]) get(key K, priority int) {
	m.depthOf(priority).Dec()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.latency.Observe(time.Since(m.added[key]).Seconds())
	delete(m.added, key)
	m.begun[key] = time.Now()
}

// done: a worker has ended with a key.
func (m *queueMetrics[K]) done(key K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if begun, known := m.begun[key]; known {
		m.duration.Observe(time.Since(begun).Seconds())
		delete(m.begun, key)
	}
}

// run keeps the metrics of work under way up to date, until stop.
func (m *queueMetrics[K]) run() {
	ticker := time.NewTicker(refresh)
	defer ticker.Stop()
	for {
		select {
		case <-m.stopped:
			return
		case <-ticker.C:
			m.refresh()
		}
	}
}

func (m *queueMetrics[K]) stop() { close(m.stopped) }

func (m *queueMetrics[K]) refresh() {
	m.mu.Lock()
	defer m.mu.Unlock()
	var total, longest time.Duration
	for _, begun := range m.begun {
		lasts := time.Since(begun)
		total, longest = total+lasts, max(longest, lasts)
	}
	m.unfinished.Set(total.Seconds())
	m.longestProcessor.Set(longest.Seconds())
}
