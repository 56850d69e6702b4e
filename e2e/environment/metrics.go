package environment

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

const metricsTimeout = 10 * time.Second

// MetricsURL returns where the manager serves its metrics. It stays the same over a restart.
func (m *Manager) MetricsURL() string {
	return fmt.Sprintf("http://127.0.0.1:%d/metrics", m.metricsPort())
}

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

// metricsPort is 0, where nothing listens, before the manager was started first. The fleet's state
// file knows the port.
func (m *Manager) metricsPort() int {
	var state struct {
		Manager struct {
			MetricsPort int `json:"metricsPort"`
		} `json:"manager"`
	}
	content, err := os.ReadFile(filepath.Join(m.fleet.StateDir(), "fleet.json"))
	if err != nil || json.Unmarshal(content, &state) != nil {
		return 0
	}
	return state.Manager.MetricsPort
}
