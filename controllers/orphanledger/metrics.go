package orphanledger

import "github.com/prometheus/client_golang/prometheus"

// Metrics of the ledgers.
type Metrics struct {
	entries *prometheus.GaugeVec
}

// NewMetrics makes the metrics and registers them.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	metrics := &Metrics{entries: prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "daytwo_orphans",
		Help: "Entries in the ledger of what may remain of targets and clusters that could not be removed.",
	}, []string{"namespace"})}
	registry.MustRegister(metrics.entries)
	return metrics
}

// set tells how many entries a namespace's ledger has. One without any has no series.
func (m *Metrics) set(namespace string, entries int) {
	if entries == 0 {
		m.entries.DeleteLabelValues(namespace)
		return
	}
	m.entries.WithLabelValues(namespace).Set(float64(entries))
}
