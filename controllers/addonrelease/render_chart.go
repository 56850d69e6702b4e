package addonrelease

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/daytwo-dev/daytwo/controllers/addonrelease/helm"
	"github.com/daytwo-dev/daytwo/controllers/internal/addoncontent"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/render"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// chartCluster is what a chart's release needs of its cluster, beside what all need.
type chartCluster interface {
	apply.ClusterView
	APIVersions() ([]string, error)
	Lookup(ctx context.Context, ref objects.Ref) (map[string]any, error)
	List(ctx context.Context, kind schema.GroupVersionKind, namespace, selector string) ([]metav1.PartialObjectMetadata, error)
	Secrets(namespace string) (corev1client.SecretInterface, error)
}

// renderChart renders a chart, or finds the rendering that was kept because another one would differ.
func (r *Reconciler) renderChart(ctx context.Context, o *observation, content addoncontent.Content, cluster chartCluster) (*render.RenderedChart, error) {
	if name := helm.KeptRendering(o.Status.Helm, o.Inputs); name != "" {
		return r.renderings(o.Target).Recall(ctx, name)
	}
	request := render.ChartRequest{
		Archive: content.Chart.Archive,
		Cluster: factsOf(o.Target),
		Release: render.Release{
			Name: content.Chart.ReleaseName, Namespace: content.Namespace,
			Revision: o.Extra.History.Latest().Version + 1, Upgrade: o.Extra.History.Installed().Version > 0,
		},
		Capabilities: render.Capabilities{KubeVersion: o.Target.Spec.Cluster.Version},
		Lookup: func(ctx context.Context, apiVersion, kind, namespace, name string) (map[string]any, error) {
			version, err := schema.ParseGroupVersion(apiVersion)
			if err != nil {
				return nil, err
			}
			return cluster.Lookup(ctx, objects.Ref{GroupVersionKind: version.WithKind(kind), Namespace: namespace, Name: name})
		},
	}
	for _, values := range content.Chart.Values {
		request.Values = append(request.Values, render.ValuesLayer{Name: values.Name, Text: values.Text})
	}
	if content.Chart.AsksForAPIs {
		var err error
		if request.Capabilities.APIVersions, err = cluster.APIVersions(); err != nil {
			return nil, err
		}
	}
	return r.Renderer.RenderChart(ctx, request)
}
