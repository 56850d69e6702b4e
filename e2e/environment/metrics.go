package environment

import (
	"context"
	"fmt"
	"net/http"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

const metricsTimeout = 10 * time.Second

// MetricsURL returns where the manager serves its metrics. It stays the same over a restart.
func (m *Manager) MetricsURL() string { return m.fleet.ManagerMetricsURL() }

// ProfilesURL returns where the manager serves its profiles: a directory of net/http/pprof.
func (m *Manager) ProfilesURL() string { return m.fleet.ManagerProfilesURL() }

// Metrics returns all metric families by name.
func (m *Manager) Metrics(ctx context.Context) (map[string]*dto.MetricFamily, error) {
	ctx, cancel := context.WithTimeout(ctx, metricsTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, m.MetricsURL(), nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("read the manager's metrics: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("read the manager's metrics from %s: %s", m.MetricsURL(), response.Status)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return parser.TextToMetricFamilies(response.Body)
}
