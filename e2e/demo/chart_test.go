package main

import (
	"bytes"
	"testing"

	"helm.sh/helm/v4/pkg/chart/v2/loader"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	"github.com/daytwo-dev/daytwo/e2e/charts"
)

func TestTheImageIsThatOfTheSecondVersionOfTheChart(t *testing.T) {
	archive, err := charts.Archive(chartName, charts.SecondVersion)
	if err != nil {
		t.Fatal(err)
	}
	chart, err := loader.LoadArchive(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	if got := chart.Metadata.AppVersion; got != webTag {
		t.Errorf("the chart's application is %s, and the story tells of %s", got, webTag)
	}
}

func TestAChartIsResolvedOnceTheStatusSpeaksOfTheVersionAskedFor(t *testing.T) {
	tests := map[string]struct {
		addon *addonsv1alpha1.SaaSAddon
		found string
		want  bool
	}{
		"manifests":          {newAddon(), "", true},
		"never fetched":      {newChartAddon("oci://registry/charts"), "", false},
		"the one before":     {newChartAddon("oci://registry/charts"), "0.9.0", false},
		"what was asked for": {newChartAddon("oci://registry/charts"), charts.FirstVersion, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.found != "" {
				test.addon.Status.Chart = &addonsv1alpha1.ResolvedChart{Requested: test.found}
			}
			if got := isResolved(test.addon); got != test.want {
				t.Errorf("resolved: %v, want %v", got, test.want)
			}
		})
	}
}
