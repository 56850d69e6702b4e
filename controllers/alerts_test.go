package controllers

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/yaml"

	"github.com/daytwo-dev/daytwo/controllers/certificatedelivery"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/statusmetrics"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
	"github.com/daytwo-dev/daytwo/controllers/orphanrecord"
)

// prometheusRule is what Daytwo uses of the kind of the Prometheus operator.
type prometheusRule struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Groups []struct {
			Name  string  `json:"name"`
			Rules []alert `json:"rules"`
		} `json:"groups"`
	} `json:"spec"`
}

type alert struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	For         string            `json:"for"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

var (
	// metricInExpr is a metric of ours, with its matchers if it has any.
	metricInExpr = regexp.MustCompile(`(daytwo_\w+)(?:\{([^}]*)\})?`)
	// matcher is one of these matchers.
	matcher = regexp.MustCompile(`(\w+)\s*(?:=~|!~|!=|=)\s*"`)
	// grouping is what an aggregation keeps of the labels.
	grouping = regexp.MustCompile(`\bby\s*\(([^)]*)\)`)
	// labelInText is a label that an annotation tells.
	labelInText = regexp.MustCompile(`\$labels\.(\w+)`)
	// described is a prometheus.Desc, which shows its parts in no other way.
	described = regexp.MustCompile(`^Desc\{fqName: "([^"]*)", .*variableLabels: \{([^}]*)\}\}$`)
)

// The Prometheus operator takes a rule whose metric or label there is not, and the alert never comes.
func TestAlertsAskForMetricsAndLabelsThatThereAre(t *testing.T) {
	exported := exportedMetrics(t)
	for _, rule := range alertsOf(t) {
		metrics := metricInExpr.FindAllStringSubmatch(rule.Expr, -1)
		if len(metrics) == 0 {
			t.Errorf("%s asks for no metric of Daytwo's: %s", rule.Alert, rule.Expr)
		}
		var known []string
		for _, metric := range metrics {
			labels, is := exported[metric[1]]
			if !is {
				t.Errorf("%s asks for %s, which the manager does not export", rule.Alert, metric[1])
			}
			known = append(known, labels...)
			for _, matched := range matcher.FindAllStringSubmatch(metric[2], -1) {
				if !slices.Contains(labels, matched[1]) {
					t.Errorf("%s: %s has no label %s", rule.Alert, metric[1], matched[1])
				}
			}
		}
		if kept := grouping.FindStringSubmatch(rule.Expr); kept != nil {
			for _, label := range listed(kept[1]) {
				if !slices.Contains(known, label) {
					t.Errorf("%s groups by %s, which is no label of %s", rule.Alert, label, metrics[0][1])
				}
			}
			known = listed(kept[1])
		}
		for name, text := range rule.Annotations {
			for _, told := range labelInText.FindAllStringSubmatch(text, -1) {
				if !slices.Contains(known, told[1]) {
					t.Errorf("%s: %s tells the label %s, and there is none", rule.Alert, name, told[1])
				}
			}
		}
	}
}

func TestAlertsSayWhatIsTheMatterAndHowLong(t *testing.T) {
	var names []string
	for _, rule := range alertsOf(t) {
		names = append(names, rule.Alert)
		if lasts, err := time.ParseDuration(rule.For); err != nil || lasts <= 0 {
			t.Errorf("%s: for: %s is no duration", rule.Alert, rule.For)
		}
		if !slices.Contains([]string{"warning", "critical"}, rule.Labels["severity"]) {
			t.Errorf("%s has the severity %q", rule.Alert, rule.Labels["severity"])
		}
		if rule.Annotations["summary"] == "" || rule.Annotations["description"] == "" {
			t.Errorf("%s has no summary, or does not say what to do", rule.Alert)
		}
	}
	slices.Sort(names)
	if unique := slices.Compact(slices.Clone(names)); len(unique) != len(names) {
		t.Errorf("two alerts have one name: %v", names)
	}
}

// alertsOf reads the rules that config/prometheus/kustomization.yaml lists, which are all files beside it.
func alertsOf(t *testing.T) (all []alert) {
	t.Helper()
	const directory = "../config/prometheus"
	var kustomization struct {
		Resources []string `json:"resources"`
	}
	readYAML(t, filepath.Join(directory, "kustomization.yaml"), yaml.Unmarshal, &kustomization)
	files, err := filepath.Glob(directory + "/*.yaml")
	if err != nil || len(files) != len(kustomization.Resources)+1 {
		t.Fatalf("kustomization.yaml lists %v, and there are %v (%v)", kustomization.Resources, files, err)
	}
	for _, file := range kustomization.Resources {
		var rule prometheusRule
		readYAML(t, filepath.Join(directory, file), yaml.UnmarshalStrict, &rule)
		if rule.APIVersion != "monitoring.coreos.com/v1" || rule.Kind != "PrometheusRule" || rule.Metadata.Name == "" {
			t.Fatalf("%s is a %s of %s, named %q", file, rule.Kind, rule.APIVersion, rule.Metadata.Name)
		}
		for _, group := range rule.Spec.Groups {
			if group.Name == "" || len(group.Rules) == 0 {
				t.Errorf("%s: group %q has %d rules", file, group.Name, len(group.Rules))
			}
			all = append(all, group.Rules...)
		}
	}
	if len(all) == 0 {
		t.Fatal("there are no alerts")
	}
	return all
}

func readYAML(t *testing.T, path string, unmarshal func([]byte, any, ...yaml.JSONOpt) error, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func listed(labels string) []string {
	return strings.FieldsFunc(labels, func(r rune) bool { return r == ',' || r == ' ' })
}

// describedMetrics notes which metrics are registered, with their labels.
type describedMetrics struct {
	*prometheus.Registry
	t      *testing.T
	labels map[string][]string
}

// MustRegister implements prometheus.Registerer.
func (d describedMetrics) MustRegister(collectors ...prometheus.Collector) {
	d.Registry.MustRegister(collectors...)
	for _, collector := range collectors {
		descriptions := make(chan *prometheus.Desc)
		go func() {
			defer close(descriptions)
			collector.Describe(descriptions)
		}()
		for description := range descriptions {
			parts := described.FindStringSubmatch(description.String())
			if parts == nil {
				d.t.Fatalf("%s shows its parts in another way", description)
			}
			d.labels[parts[1]] = listed(parts[2])
		}
	}
}

// exportedMetrics are those that SetupAll registers, with their labels.
func exportedMetrics(t *testing.T) map[string][]string {
	t.Helper()
	registry := describedMetrics{Registry: prometheus.NewRegistry(), t: t, labels: map[string][]string{}}
	target.NewMetrics(registry)
	fleet.NewMetrics(registry)
	orphanrecord.NewMetrics(registry)
	certificatedelivery.NewMetrics(registry, nil, nil, logr.Discard())
	statusmetrics.New(registry, nil, nil, nil, logr.Discard())
	return registry.labels
}
