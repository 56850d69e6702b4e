package render

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"strings"
	"text/template"

	"helm.sh/helm/v4/pkg/chart/common"
	commonutil "helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
	release "helm.sh/helm/v4/pkg/release/v1"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"

	"github.com/daytwo-dev/daytwo/controllers/internal/render/manifest"
)

// notesName is how the template of the notes is called, at the top of templates.
const notesName = "NOTES.txt"

// rendering is one pass of a chart through Helm's engine, with all it depends on beside the chart.
type rendering struct {
	release      Release
	capabilities Capabilities
	// config is what the layers of values merge to.
	config map[string]any
	lookup lookupFunction
	// secrets is what was looked up of Secrets, and is kept out of errors.
	secrets []any
	// clock replaces functions that read it, if not nil.
	clock       template.FuncMap
	draws       *draws
	outputLimit int
}

// rendered is what comes out of a pass.
type rendered struct {
	// files are what the templates render to, by path, without the notes.
	files     map[string]string
	notes     string
	hooks     []*release.Hook
	manifests []releaseutil.Manifest
}

// differently returns a rendering of the same values for the same cluster with everything else
// changed.
func (r *rendering) differently() *rendering {
	other := *r
	other.release.Revision++
	other.release.Upgrade = !r.release.Upgrade
	other.capabilities.APIVersions = nil
	other.lookup = findNothing
	other.clock = laterFunctions()
	other.draws.again()
	return &other
}

// renderAndRecord renders a chart, which it may change.
func (r *rendering) renderAndRecord(c *chart.Chart) (rendered, chartContent, []byte, *manifest.Error) {
	result, failure := r.execute(c)
	if failure != nil {
		return rendered{}, chartContent{}, nil, failure
	}
	if failure := result.sort(); failure != nil {
		return rendered{}, chartContent{}, nil, failure
	}
	content, failure := contentOf(c, result)
	if failure != nil {
		return rendered{}, chartContent{}, nil, failure
	}
	record, failure := encodeRecord(r.record(c, result))
	return result, content, record, failure
}

// repeats reports whether this rendering gives the same content as an earlier one of the same
// archive. One that fails does not.
func (r *rendering) repeats(packed []byte, earlier rendered, content []byte) bool {
	again, failure := unpackChart(packed)
	if failure != nil {
		return false
	}
	result, failure := r.execute(again)
	if failure != nil {
		return false
	}
	if maps.Equal(result.files, earlier.files) {
		return true
	}
	if failure := result.sort(); failure != nil {
		return false
	}
	other, failure := contentOf(again, result)
	if failure != nil {
		return false
	}
	encoded, failure := encodeContent(other, r.outputLimit)
	return failure == nil && bytes.Equal(encoded, content)
}

// execute does what action.Install and action.Upgrade do before they sort manifests.
func (r *rendering) execute(c *chart.Chart) (rendered, *manifest.Error) {
	if err := chartutil.ProcessDependencies(c, r.config); err != nil {
		return rendered{}, coalesceError(err)
	}
	values, failure := r.values(c)
	if failure != nil {
		return rendered{}, failure
	}
	files, err := engine.Engine{CustomTemplateFuncs: r.functions()}.Render(c, values)
	if err != nil {
		return rendered{}, chartError(err, newMask(r.config, r.secrets))
	}
	written := 0
	for _, text := range files {
		written += len(text)
	}
	if written > r.outputLimit {
		return rendered{}, outputExceeded(r.outputLimit)
	}
	notes := takeNotes(c, files)
	return rendered{files: files, notes: notes}, nil
}

// sort tells hooks from manifests and gives both Helm's order.
func (r *rendered) sort() *manifest.Error {
	var err error
	r.hooks, r.manifests, err = releaseutil.SortManifests(r.files, nil, releaseutil.InstallOrder)
	if err != nil {
		return manifestError(err)
	}
	return nil
}

// values returns what templates see.
func (r *rendering) values(c *chart.Chart) (common.Values, *manifest.Error) {
	capabilities, failure := r.capabilities.forHelm()
	if failure != nil {
		return nil, failure
	}
	options := common.ReleaseOptions{
		Name: r.release.Name, Namespace: r.release.Namespace, Revision: r.release.Revision,
		IsInstall: !r.release.Upgrade, IsUpgrade: r.release.Upgrade,
	}
	values, err := commonutil.ToRenderValuesWithSchemaValidation(c, r.config, options, capabilities, true)
	if err != nil {
		return nil, coalesceError(err)
	}
	if failure := checkSchemas(c, values["Values"].(common.Values)); failure != nil {
		return nil, failure
	}
	return values, checkKubeVersion(c, capabilities)
}

func checkKubeVersion(c *chart.Chart, capabilities *common.Capabilities) *manifest.Error {
	wanted := c.Metadata.KubeVersion
	if wanted == "" || chartutil.IsCompatibleRange(wanted, capabilities.KubeVersion.String()) {
		return nil
	}
	return &manifest.Error{Reason: manifest.ChartIncompatible, Message: fmt.Sprintf("the chart %s requires Kubernetes %s, which %s is not (patch releases are not looked at): "+
		"use another version of the chart, or upgrade the cluster", c.Name(), wanted, capabilities.KubeVersion.Version)}
}

// forHelm makes "1.36" the v1.36.0 that constraints and charts expect.
func (c Capabilities) forHelm() (*common.Capabilities, *manifest.Error) {
	full := c.KubeVersion
	if strings.Count(full, ".") == 1 {
		full += ".0"
	}
	version, err := common.ParseKubeVersion(full)
	if err != nil {
		return nil, &manifest.Error{Reason: manifest.ReleaseInvalid, Message: fmt.Sprintf("the cluster's version %s is none of Kubernetes: it should be like 1.36", shown(c.KubeVersion))}
	}
	capabilities := common.DefaultCapabilities.Copy()
	capabilities.KubeVersion = *version
	if len(c.APIVersions) > 0 {
		capabilities.APIVersions = c.APIVersions
	}
	return capabilities, nil
}

func (r *rendering) lookUp(apiVersion, kind, namespace, name string) (map[string]any, error) {
	found, err := r.lookup(apiVersion, kind, namespace, name)
	if kind != "Secret" {
		return found, err
	}
	r.secrets = append(r.secrets, found["data"])
	items, _ := found["items"].([]any)
	for _, item := range items {
		if secret, isObject := item.(map[string]any); isObject {
			r.secrets = append(r.secrets, secret["data"])
		}
	}
	return found, err
}

func (r *rendering) functions() template.FuncMap {
	all := chartFunctions(r.lookUp)
	maps.Copy(all, r.draws.functions())
	maps.Copy(all, r.clock)
	return all
}

// takeNotes takes the notes of the chart and its subcharts out of the files, and returns the chart's.
func takeNotes(c *chart.Chart, files map[string]string) string {
	notes := files[path.Join(c.Name(), "templates", notesName)]
	maps.DeleteFunc(files, func(name, _ string) bool { return strings.HasSuffix(name, notesName) })
	return notes
}
