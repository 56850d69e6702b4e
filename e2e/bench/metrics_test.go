package main

import (
	"bytes"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"k8s.io/apimachinery/pkg/types"
)

const exposition = `# TYPE daytwo_remote_requests_total counter
daytwo_remote_requests_total{code="2xx",verb="probe"} 3
daytwo_remote_requests_total{code="2xx",verb="get"} 2
daytwo_remote_requests_total{code="2xx",verb="watch"} 7
daytwo_remote_requests_total{code="4xx",verb="patch"} 1
# TYPE daytwo_cluster_connected gauge
daytwo_cluster_connected{cluster="a"} 1
daytwo_cluster_connected{cluster="b"} 0
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
	} {
		if test.got != test.want {
			t.Errorf("%s: %v, want %v", name, test.got, test.want)
		}
	}
}

func TestUsageIsReadFromAProfile(t *testing.T) {
	var profile bytes.Buffer
	if err := pprof.Lookup("heap").WriteTo(&profile, 1); err != nil {
		t.Fatal(err)
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	got, err := parseUsage(profile.String())
	if err != nil {
		t.Fatal(err)
	}
	if got.live <= 0 || got.heap < got.live || got.heap*1024 > float64(stats.HeapSys) || got.stacks <= 0 {
		t.Errorf("read %s of a heap of %d bytes", got, stats.HeapSys)
	}
	if got, err := parseUsage("# HeapInuse = 1024\n"); err == nil {
		t.Errorf("a profile without the rest gives %s", got)
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
