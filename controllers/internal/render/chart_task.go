package render

import (
	"encoding/json"

	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"

	"github.com/daytwo-dev/daytwo/controllers/internal/render/manifest"
	"github.com/daytwo-dev/daytwo/controllers/internal/render/sandbox"
)

// chartTask is what a worker is asked to do with the chart that follows.
type chartTask struct {
	// Inspect asks for a ChartInfo only.
	Inspect      bool          `json:"inspect,omitempty"`
	Values       []ValuesLayer `json:"values,omitempty"`
	Release      Release       `json:"release"`
	Capabilities Capabilities  `json:"capabilities"`
	// Lookup says that the manager answers lookups.
	Lookup bool `json:"lookup,omitempty"`
}

// chartReply is a RenderedChart on its way.
type chartReply struct {
	chartContent
	Record   json.RawMessage `json:"record"`
	Volatile bool            `json:"volatile,omitempty"`
}

func (r *chartReply) rendered() *RenderedChart {
	hooks := make([]Hook, 0, len(r.Hooks))
	for _, hook := range r.Hooks {
		hooks = append(hooks, hook.hook())
	}
	return &RenderedChart{
		CRDs: asUnstructured(r.CRDs), Objects: asUnstructured(r.Objects), Hooks: hooks,
		Record: r.Record, Volatile: r.Volatile,
	}
}

func (w *worker) performChart(request task, packed []byte) (reply, *manifest.Error) {
	loaded, failure := loadChart(packed)
	if failure != nil {
		return reply{}, failure
	}
	if request.Chart.Inspect {
		return reply{Info: infoOf(loaded)}, nil
	}
	if failure := checkInstallable(loaded); failure != nil {
		return reply{}, failure
	}
	if err := chartutil.ValidateReleaseName(request.Chart.Release.Name); err != nil {
		return reply{}, &manifest.Error{Reason: manifest.ReleaseInvalid, Message: "the release's name " + shown(request.Chart.Release.Name) + " is none that Helm accepts: " +
			"use at most 53 lower-case letters, digits, dashes and dots, and a letter or digit at both ends"}
	}
	executed := &executor{functions: w.functions, values: request.Cluster.values(), limit: request.OutputLimit}
	config, failure := mergeLayers(request.Chart.Values, executed)
	if failure != nil {
		return reply{}, failure
	}
	first := w.firstRendering(request, config)
	result, content, record, failure := first.renderAndRecord(loaded)
	if failure != nil {
		return reply{}, failure
	}
	encoded, failure := encodeContent(content, request.OutputLimit)
	if failure != nil {
		return reply{}, failure
	}
	if err := sandbox.Write(w.out, sandbox.FrameAgain, nil); err != nil {
		return reply{}, manifest.TemplateFailedf("the manager is gone: %v", err)
	}
	volatile := !first.differently().repeats(packed, result, encoded)
	return reply{Chart: &chartReply{chartContent: content, Record: record, Volatile: volatile}}, nil
}

func (w *worker) firstRendering(request task, config map[string]any) *rendering {
	r := &rendering{
		release: request.Chart.Release, capabilities: request.Chart.Capabilities,
		config: config, lookup: findNothing, draws: &draws{}, outputLimit: request.OutputLimit,
	}
	if request.Chart.Lookup {
		r.lookup = w.lookup
	}
	return r
}

// encodeContent also holds the limit.
func encodeContent(content chartContent, limit int) ([]byte, *manifest.Error) {
	encoded, err := encode(content)
	if err != nil {
		return nil, manifest.InvalidManifestf("the objects cannot be written as JSON: %v", err)
	}
	if len(encoded) > limit {
		return nil, outputExceeded(limit)
	}
	return encoded, nil
}
