package main

import (
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"k8s.io/apimachinery/pkg/types"
)

const exposition = `# TYPE daytwo_remote_requests_total counter
daytwo_remote_requests_total{code="200",verb="probe"} 3
daytwo_remote_requests_total{code="200",verb="get"} 2
daytwo_remote_requests_total{code="200",verb="watch"} 7
daytwo_remote_requests_total{code="409",verb="patch"} 1
# TYPE daytwo_cluster_connected gauge
daytwo_cluster_connected{cluster="a"} 1
daytwo_cluster_connected{cluster="b"} 0
# TYPE go_gc_duration_seconds summary
go_gc_duration_seconds{quantile="0.5"} 0.001
go_gc_duration_seconds_sum 0.1
go_gc_duration_seconds_count 12
`

func TestMetricsAreAddedUpByWhatIsSelected(t *testing.T) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(exposition))
	if err != nil {
		t.Fatal(err)
	}
	m := metrics(families)
	for name, test := range map[string]struct{ got, want float64 }{
		"all requests": {m.total(requestsMetric, nil), 13},
		"reads":        {m.total(requestsMetric, isRead), 5},
		"writes":       {m.total(requestsMetric, isWrite), 1},
		"watches":      {m.total(requestsMetric, isWatch), 7},
		"connected":    {m.total("daytwo_cluster_connected", isOne), 1},
		"unknown":      {m.total("no_such_metric", nil), 0},
		"collections":  {gcCycles(m), 12},
	} {
		if test.got != test.want {
			t.Errorf("%s: %v, want %v", name, test.got, test.want)
		}
	}
}

func TestChangesCountsWhatWasMadeWrittenOrRemoved(t *testing.T) {
	before := map[types.UID]string{"same": "1", "written": "2", "removed": "3"}
	after := map[types.UID]string{"same": "1", "written": "5", "made": "6"}
	if got := changes(before, after); got != 3 {
		t.Errorf("%d changes, want 3", got)
	}
	if got := changes(after, after); got != 0 {
		t.Errorf("%d changes where nothing changed", got)
	}
}
