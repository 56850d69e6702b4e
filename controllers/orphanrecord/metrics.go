package orphanrecord

import "github.com/prometheus/client_golang/prometheus"

// Metrics of the OrphanRecords.
type Metrics struct {
	records *prometheus.GaugeVec
}

// NewMetrics makes the metrics and registers them.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	metrics := &Metrics{records: prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "daytwo_orphans",
		Help: "OrphanRecords of what may remain of targets and clusters that could not be removed.",
	}, []string{"namespace"})}
	registry.MustRegister(metrics.records)
	return metrics
}

// set tells how many records a namespace has. One without any has no series.
func (m *Metrics) set(namespace string, records int) {
	if records == 0 {
		m.records.DeleteLabelValues(namespace)
		return
	}
	m.records.WithLabelValues(namespace).Set(float64(records))
}
