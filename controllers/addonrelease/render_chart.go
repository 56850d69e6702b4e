package addonrelease

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/addoncontent"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/revision"
	"github.com/daytwo-dev/daytwo/controllers/internal/render"
)

// maxRenderings is how many renderings that cannot be made again are kept: that of the current revision
// and those that the history may go back to. The CRD says the same.
const maxRenderings = 6

// chartCluster is what a chart's release needs of its cluster, beside what all need.
type chartCluster interface {
	clusterView
	APIVersions() ([]string, error)
	Lookup(ctx context.Context, ref objects.Ref) (map[string]any, error)
	List(ctx context.Context, kind schema.GroupVersionKind, namespace, selector string) ([]metav1.PartialObjectMetadata, error)
	Secrets(namespace string) (corev1client.SecretInterface, error)
}

// renderChart renders a chart, or finds the rendering that was kept because another one would differ.
func (r *Reconciler) renderChart(ctx context.Context, o *observed, content addoncontent.Content, cluster chartCluster) (*render.RenderedChart, error) {
	if name := keptRendering(o.release, o.inputs); name != "" {
		o.useRendering()
		return r.recallRendering(ctx, types.NamespacedName{Namespace: o.release.Namespace, Name: name})
	}
	request := render.ChartRequest{
		Archive: content.Chart.Archive,
		Cluster: factsOf(o.release),
		Release: render.Release{
			Name: content.Chart.ReleaseName, Namespace: content.Namespace,
			Revision: o.history.Latest().Version + 1, Upgrade: o.history.Installed().Version > 0,
		},
		Capabilities: render.Capabilities{KubeVersion: o.release.Spec.Cluster.Version},
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

func keptRendering(release *addonsv1alpha1.AddonRelease, inputs string) string {
	if release.Status.Helm == nil {
		return ""
	}
	for _, kept := range release.Status.Helm.Renderings {
		if kept.InputsHash == inputs {
			return kept.Name
		}
	}
	return ""
}

// useRendering moves the rendering that is used, and the one that is installed, to the front: those that
// nobody used for the longest time are dropped first.
func (o *observed) useRendering() {
	rank := func(kept addonsv1alpha1.KeptRendering) int {
		switch kept.InputsHash {
		case o.inputs:
			return 0
		case o.release.Status.InputsHash:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(o.release.Status.Helm.Renderings, func(a, b addonsv1alpha1.KeptRendering) int { return rank(a) - rank(b) })
}

func (r *Reconciler) recallRendering(ctx context.Context, key types.NamespacedName) (*render.RenderedChart, error) {
	raw, err := revision.Read(ctx, r.Reader, key)
	if err != nil {
		return nil, fmt.Errorf("the rendering that was kept: %w", err)
	}
	rendered := &render.RenderedChart{}
	if err := json.Unmarshal(raw, rendered); err != nil {
		return nil, fmt.Errorf("the rendering that was kept, %s: %w", key, err)
	}
	rendered.Volatile = false
	return rendered, nil
}

// keepRendering stores a rendering that cannot be made again, before anything of it is applied, and
// drops the oldest ones.
func (r *Reconciler) keepRendering(ctx context.Context, o *observed) error {
	if o.chart == nil || o.chart.volatile == nil || keptRendering(o.release, o.inputs) != "" {
		return nil
	}
	snapshot, err := revision.EncodeSnapshot(o.release.Name, o.chart.volatile)
	if err != nil {
		return fmt.Errorf("keep the rendering: %w", err)
	}
	owner := revision.Owner{APIVersion: addonsv1alpha1.GroupVersion.String(), Kind: ownerKind, Object: o.release}
	if err := revision.Write(ctx, r.Client, r.Reader, owner, snapshot); err != nil {
		return fmt.Errorf("keep the rendering: %w", err)
	}
	status := o.helmStatus()
	status.Renderings = append(status.Renderings, addonsv1alpha1.KeptRendering{InputsHash: o.inputs, Name: snapshot.Name})
	o.useRendering()
	status.Renderings = status.Renderings[:min(len(status.Renderings), maxRenderings)]
	if err := r.record(ctx, o); err != nil {
		return fmt.Errorf("keep the rendering: %w", err)
	}
	o.chart.volatile = nil
	return r.pruneRenderings(ctx, owner, o.helmStatus().Renderings)
}

// pruneRenderings removes those that the status does not name: the oldest, and what a manager that died
// stored and never used.
func (r *Reconciler) pruneRenderings(ctx context.Context, owner revision.Owner, kept []addonsv1alpha1.KeptRendering) error {
	stored, err := revision.List(ctx, r.Reader, owner)
	if err != nil {
		return err
	}
	for _, one := range stored {
		named := slices.ContainsFunc(kept, func(k addonsv1alpha1.KeptRendering) bool { return k.Name == one.Name })
		if named {
			continue
		}
		if err := revision.Remove(ctx, r.Client, owner.Object.GetNamespace(), one); err != nil {
			return err
		}
	}
	return nil
}
