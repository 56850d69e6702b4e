package render

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/daytwo-dev/daytwo/controllers/internal/render/manifest"
)

// ChartInfo is what a chart says of itself.
type ChartInfo struct {
	Name       string `json:"name"`
	Version    string `json:"version"`
	AppVersion string `json:"appVersion,omitempty"`
	// KubeVersion is a constraint: ">=1.30.0-0".
	KubeVersion string `json:"kubeVersion,omitempty"`
	// Type is application, or library for a chart that cannot be installed.
	Type string `json:"type"`
	// AsksForAPIs: one of its files mentions .Capabilities.APIVersions, so what it renders to may
	// change when a cluster serves other kinds.
	AsksForAPIs bool `json:"asksForAPIs,omitempty"`
}

// ChartRequest is everything that the rendering of a chart depends on.
type ChartRequest struct {
	// Archive is the packaged chart, a .tgz.
	Archive []byte
	// Values are merged in their order, each over those before it, and then over the chart's own.
	Values []ValuesLayer
	// Cluster is what the templates in Values know.
	Cluster Cluster
	// Tenant whose share of the workers is used; the namespace of the cluster if empty.
	Tenant       string
	Release      Release
	Capabilities Capabilities
	// Lookup answers the template function lookup; if nil, that finds nothing.
	Lookup LookupFunc
}

// ValuesLayer is one of several sets of values.
type ValuesLayer struct {
	// Name tells a person where the text is from: "spec.values", "secret/cache/values.yaml".
	Name string `json:"name"`
	// Text is a YAML mapping, UTF-8. Each string in it, though not the keys, is a template such as
	// those of a Source; what it yields is a string as well.
	Text string `json:"text"`
}

// Release is what a chart's templates know as .Release.
type Release struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	Revision  int    `json:"revision"`
	// Upgrade is what .Release.IsUpgrade says; IsInstall is the opposite.
	Upgrade bool `json:"upgrade,omitempty"`
}

// Capabilities is what a chart's templates know of the API server.
type Capabilities struct {
	// KubeVersion is "1.36": a chart sees v1.36.0, so that a patch release changes nothing.
	KubeVersion string `json:"kubeVersion"`
	// APIVersions are those that .Capabilities.APIVersions.Has knows: "apps/v1", and
	// "apps/v1/Deployment". If there are none, those of Kubernetes itself.
	APIVersions []string `json:"apiVersions,omitempty"`
}

// Hook is an object that Helm creates at a certain point of a release's life.
type Hook struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
	// Path of the template.
	Path string `json:"path"`
	// Events at which it runs, of release.HookEvent: "pre-install".
	Events []string `json:"events"`
	Weight int      `json:"weight,omitempty"`
	// DeletePolicies, of release.HookDeletePolicy; before-hook-creation if the chart names none.
	DeletePolicies []string                   `json:"deletePolicies"`
	Object         *unstructured.Unstructured `json:"object"`
}

// RenderedChart is what a chart renders to. Objects are as rendered: without a default namespace
// and without the labels and annotations that say whose they are.
type RenderedChart struct {
	// CRDs are the objects of the directories crds, those of subcharts too, in Helm's order. The
	// first of several that are the same counts, as it does in Helm.
	CRDs []*unstructured.Unstructured `json:"crds,omitempty"`
	// Objects are those that are no hooks, in Helm's order of installation.
	Objects []*unstructured.Unstructured `json:"objects,omitempty"`
	// Hooks are in the order in which Helm runs those of one event: by weight, then name, then
	// kind. They have passed the same checks as objects, but may be the same as another.
	Hooks []Hook `json:"hooks,omitempty"`
	// Record is Helm's record of the release, release.Release as JSON, without what only its
	// course tells: Info's status, times and description. It fits into a Secret.
	Record json.RawMessage `json:"record"`
	// Volatile: the chart renders to something else when it is rendered again with the same
	// archive, values, cluster and Kubernetes version. Whoever wants it to stay has to keep this.
	Volatile bool `json:"volatile,omitempty"`
}

// InspectChart reads for a tenant what a chart says of itself, without rendering it. It refuses an archive that
// RenderChart would refuse, except that a library is none of its concern.
func (p *Pool) InspectChart(ctx context.Context, tenant string, archive []byte) (ChartInfo, error) {
	result, err := p.doChart(ctx, tenant, task{Chart: &chartTask{Inspect: true}}, archive, nil)
	if err != nil {
		return ChartInfo{}, err
	}
	if result.Info == nil {
		return ChartInfo{}, errOtherReply
	}
	return *result.Info, nil
}

// RenderChart returns what a chart renders to, as Helm would install it. It ends early when ctx is
// done. ReasonOf tells a request that is at fault from an error that the next try may mend; that of
// a lookup is wrapped.
func (p *Pool) RenderChart(ctx context.Context, request ChartRequest) (*RenderedChart, error) {
	if failure := checkLayers(request.Values, p.limits.Output); failure != nil {
		return nil, failure
	}
	var offered *lookups
	if request.Lookup != nil {
		offered = &lookups{find: request.Lookup, limit: p.limits.Output}
	}
	result, err := p.doChart(ctx, cmp.Or(request.Tenant, request.Cluster.Namespace), task{
		Cluster: request.Cluster,
		Chart: &chartTask{
			Values: request.Values, Release: request.Release,
			Capabilities: request.Capabilities, Lookup: offered != nil,
		},
	}, request.Archive, offered)
	if err != nil {
		return nil, err
	}
	if result.Chart == nil {
		return nil, errOtherReply
	}
	return result.Chart.rendered(), nil
}

var errOtherReply = fmt.Errorf("%w: it did not answer what it was asked", ErrWorkerLost)

func checkLayers(layers []ValuesLayer, limit int) *manifest.Error {
	length := 0
	for _, layer := range layers {
		length += len(layer.Text)
		if !utf8.ValidString(layer.Text) {
			return manifest.ValuesInvalidf("%s is not UTF-8 text: save it as UTF-8", layer.Name)
		}
	}
	if length > limit {
		return inputExceeded(limit)
	}
	return nil
}

func (p *Pool) doChart(ctx context.Context, tenant string, t task, archive []byte, offered *lookups) (reply, error) {
	if len(archive) > maxPacked {
		return reply{}, manifest.ChartRefusedf("the packaged chart is larger than %s: %s", size(maxPacked), smallerChart)
	}
	t.OutputLimit = p.limits.Output
	payload, err := encode(t)
	if err != nil {
		return reply{}, err
	}
	if archive == nil {
		archive = []byte{}
	}
	answer, err := p.exchange(ctx, order{
		tenant: tenant, task: payload, archive: archive, lookups: offered, maxReply: p.maxReply() + maxRecordJSON,
	})
	if err != nil {
		return reply{}, err
	}
	if offered != nil && offered.failed != nil {
		return reply{}, offered.failed
	}
	return decodeReply(answer)
}
