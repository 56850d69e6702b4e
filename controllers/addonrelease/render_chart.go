package addonrelease

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/daytwo-dev/daytwo/controllers/addonrelease/helm"
	"github.com/daytwo-dev/daytwo/controllers/internal/addoncontent"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/render"
)

// renderChart renders a chart, or finds the rendering that was kept because another one would differ.
func (r *Reconciler) renderChart(ctx context.Context, o *observation, content addoncontent.Content, cluster *fleet.Cluster) (*render.RenderedChart, error) {
	if name := helm.KeptRendering(o.Status.Helm, o.Inputs); name != "" {
		return r.renderings(o.Target).Recall(ctx, name)
	}
	request := content.ChartRequest(parametersOf(o.Target))
	request.Release.Revision = o.Extra.History.Latest().Version + 1
	request.Release.Upgrade = o.Extra.History.Installed().Version > 0
	request.Lookup = func(ctx context.Context, apiVersion, kind, namespace, name string) (map[string]any, error) {
		version, err := schema.ParseGroupVersion(apiVersion)
		if err != nil {
			return nil, err
		}
		return cluster.Lookup(ctx, objects.Ref{GroupVersionKind: version.WithKind(kind), Namespace: namespace, Name: name})
	}
	if content.Chart.AsksForAPIs {
		var err error
		if request.Capabilities.APIVersions, err = cluster.APIVersions(); err != nil {
			return nil, err
		}
	}
	return r.Renderer.RenderChart(ctx, request)
}
