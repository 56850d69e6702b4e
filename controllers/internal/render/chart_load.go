package render

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"strings"

	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"

	"github.com/daytwo-dev/daytwo/controllers/internal/render/manifest"
)

// loadChart unpacks a chart that may be hostile, and checks what Helm does not.
func loadChart(packed []byte) (*chart.Chart, *manifest.Error) {
	if failure := checkArchive(packed); failure != nil {
		return nil, failure
	}
	loaded, failure := unpackChart(packed)
	if failure != nil {
		return nil, failure
	}
	if failure := checkMetadata(loaded); failure != nil {
		return nil, failure
	}
	return loaded, checkBundled(loaded)
}

// unpackChart unpacks an archive that has passed checkArchive. A chart serves one rendering:
// that changes it.
func unpackChart(packed []byte) (*chart.Chart, *manifest.Error) {
	loaded, err := loader.LoadArchive(bytes.NewReader(packed))
	if err != nil {
		return nil, manifest.ChartRefusedf("the chart cannot be loaded: %s", withoutValues(oneLine(err.Error())))
	}
	sortSubcharts(loaded)
	return loaded, nil
}

// sortSubcharts gives subcharts an order: the loader's is random.
func sortSubcharts(c *chart.Chart) {
	subcharts := slices.Clone(c.Dependencies())
	slices.SortStableFunc(subcharts, func(a, b *chart.Chart) int {
		if byName := strings.Compare(a.Name(), b.Name()); byName != 0 {
			return byName
		}
		return strings.Compare(a.Metadata.Version, b.Metadata.Version)
	})
	c.SetDependencies(subcharts...)
	for _, subchart := range subcharts {
		sortSubcharts(subchart)
	}
}

// chartName is what `helm create` accepts.
var chartName = regexp.MustCompile(`^[a-zA-Z0-9._-]+$`)

// checkMetadata checks a chart and its subcharts. The loader has checked that the version is
// semantic and the type known.
func checkMetadata(c *chart.Chart) *manifest.Error {
	if !chartName.MatchString(c.Name()) {
		return manifest.ChartRefusedf("%s in a Chart.yaml is no name of a chart: letters, digits, dots, dashes and underscores make one", shown(c.Name()))
	}
	if version := c.Metadata.APIVersion; version != chart.APIVersionV1 && version != chart.APIVersionV2 {
		return manifest.ChartRefusedf("the chart %s has apiVersion %s: only v1 and v2 are known", c.Name(), shown(version))
	}
	for _, subchart := range c.Dependencies() {
		if failure := checkMetadata(subchart); failure != nil {
			return failure
		}
	}
	return nil
}

// checkBundled refuses a chart that lacks subcharts, as `helm install` does: it would be installed
// without them, and nothing would say so.
func checkBundled(c *chart.Chart) *manifest.Error {
	for _, wanted := range c.Metadata.Dependencies {
		isWanted := func(bundled *chart.Chart) bool { return bundled.Name() == wanted.Name }
		if !slices.ContainsFunc(c.Dependencies(), isWanted) {
			return manifest.ChartRefusedf("the chart %s depends on %s, which its directory charts lacks: "+
				"run `helm dependency update` before packaging it", c.Name(), shown(wanted.Name))
		}
	}
	return nil
}

// checkInstallable refuses a library, which has nothing to install.
func checkInstallable(c *chart.Chart) *manifest.Error {
	if typeOf(c) == "library" {
		return manifest.ChartRefusedf("the chart %s is a library, made for use in other charts: name one that uses it", c.Name())
	}
	return nil
}

func typeOf(c *chart.Chart) string {
	if c.Metadata.Type == "" {
		return "application"
	}
	return c.Metadata.Type
}

func infoOf(c *chart.Chart) *ChartInfo {
	return &ChartInfo{
		Name: c.Name(), Version: c.Metadata.Version, AppVersion: c.Metadata.AppVersion,
		KubeVersion: c.Metadata.KubeVersion, Type: typeOf(c), AsksForAPIs: asksForAPIs(c),
	}
}

// asksForAPIs looks at all files but documentation: any of them may be made a template by tpl.
func asksForAPIs(c *chart.Chart) bool {
	for _, file := range c.Raw {
		if path.Ext(file.Name) != ".md" && bytes.Contains(file.Data, []byte("APIVersions")) {
			return true
		}
	}
	return slices.ContainsFunc(c.Dependencies(), asksForAPIs)
}
